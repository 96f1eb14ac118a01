package embedded

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// Log and snapshot are a file header and then frames. A frame is written,
// and lost, at once: for the log the commands of one group commit.
//
//	file header  magic(7) version(1) generation(8) crc32c(4)
//	frame        length(4) crc32c of payload(4) crc32c of these eight bytes(4) payload
//
// The frame's header has a checksum of its own so that a damaged length in the
// middle of a file is not mistaken for a frame that runs past the end.
const (
	logMagic        = "SETTLOG"
	snapshotMagic   = "SETTSNP"
	formatVersion   = 1
	fileHeaderSize  = 20
	frameHeaderSize = 12
	maxFrame        = math.MaxUint32
)

// checksum is the CRC-32C. Its table is Go's own, made when it is first asked for.
func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// fileHeader is the first bytes of a file.
func fileHeader(magic string, generation uint64) []byte {
	b := append([]byte(magic), formatVersion)
	b = binary.LittleEndian.AppendUint64(b, generation)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// beginFrame makes room for a frame's header; sealFrame fills it in.
func beginFrame() []byte { return make([]byte, frameHeaderSize, 4096) }

func sealFrame(frame []byte) {
	payload := frame[frameHeaderSize:]
	binary.LittleEndian.PutUint32(frame, uint32(len(payload)))
	binary.LittleEndian.PutUint32(frame[4:], checksum(payload))
	binary.LittleEndian.PutUint32(frame[8:], checksum(frame[:8]))
}

// frameReader reads a file's frames in order. It only reads: the caller decides
// about a truncated tail.
type frameReader struct {
	path string
	r    *bufio.Reader
	size int64
	off  int64 // start of the frame that next reads
}

// openFrames checks the header of a file. short: the file ends within its header.
func openFrames(f *os.File, magic string, generation uint64) (fr *frameReader, short bool, err error) {
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	fr = &frameReader{path: f.Name(), r: bufio.NewReaderSize(f, 1<<20), size: info.Size()}
	if fr.size < fileHeaderSize {
		return fr, true, nil
	}
	var head [fileHeaderSize]byte
	if _, err := io.ReadFull(fr.r, head[:]); err != nil {
		return nil, false, err
	}
	switch {
	case string(head[:7]) != magic:
		return nil, false, fr.damaged("not a file of this kind")
	case checksum(head[:16]) != binary.LittleEndian.Uint32(head[16:]):
		return nil, false, fr.damaged("checksum of the file header")
	case head[7] != formatVersion:
		return nil, false, fr.damaged("written by another version of sett")
	case binary.LittleEndian.Uint64(head[8:]) != generation:
		return nil, false, fr.damaged("generation does not match the file name")
	}
	fr.off = fileHeaderSize
	return fr, false, nil
}

// damaged is the error for the frame at hand.
func (fr *frameReader) damaged(reason string) error {
	return &CorruptError{File: fr.path, Offset: fr.off, Reason: reason}
}

// next returns a frame's payload; io.EOF at the end; io.ErrUnexpectedEOF when
// the rest is a truncated frame, as a crash leaves it; else CorruptError.
// A truncated frame is one that runs past the end of the file, or a last one
// with a bad checksum and nothing after it.
func (fr *frameReader) next() ([]byte, error) {
	left := fr.size - fr.off
	if left == 0 {
		return nil, io.EOF
	}
	if left < frameHeaderSize {
		return nil, io.ErrUnexpectedEOF
	}
	var head [frameHeaderSize]byte
	if _, err := io.ReadFull(fr.r, head[:]); err != nil {
		return nil, err
	}
	if checksum(head[:8]) != binary.LittleEndian.Uint32(head[8:]) {
		return nil, fr.badHeader()
	}
	length := int64(binary.LittleEndian.Uint32(head[:]))
	if length > left-frameHeaderSize {
		return nil, io.ErrUnexpectedEOF
	}
	payload := make([]byte, length)
	if _, err := io.ReadFull(fr.r, payload); err != nil {
		return nil, err
	}
	if checksum(payload) != binary.LittleEndian.Uint32(head[4:]) {
		if length == left-frameHeaderSize {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, fr.damaged("checksum of a record")
	}
	fr.off += frameHeaderSize + length
	return payload, nil
}

// badHeader tells a header torn by a power cut, after which a file system may
// show nothing but zeros, from damage.
func (fr *frameReader) badHeader() error {
	for {
		b, err := fr.r.ReadByte()
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		if b != 0 {
			return fr.damaged("checksum of a record's header")
		}
	}
}
