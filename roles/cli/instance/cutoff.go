package instance

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// CutOff is the note of a sett down whose blackboard could not be told of the stop. Cubs that it stopped did not die: the
// next sett up queues their grants again, before an orchestrator takes them for dead.
type CutOff struct {
	By      string   `json:"by"`      // the person of the newest such stop
	Holders []string `json:"holders"` // incarnations of the cubs
}

func cutOffPath(in *Instance) string { return filepath.Join(in.Dir, "cut-off.json") }

// IsCutOff says whether there is such a note.
func IsCutOff(in *Instance) bool { return Exists(cutOffPath(in)) }

// ReadCutOff reads the note. Without one it names no cubs.
func ReadCutOff(in *Instance) (c CutOff, err error) {
	if err = ReadFile(cutOffPath(in), &c); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return c, err
}

// NoteCutOff adds cubs to the note, before they are stopped: a sett down that is killed meanwhile has noted them all.
func NoteCutOff(in *Instance, by string, holders []string) error {
	c, _ := ReadCutOff(in) // a damaged one is written anew
	c.By = by
	for _, h := range holders {
		if !slices.Contains(c.Holders, h) {
			c.Holders = append(c.Holders, h)
		}
	}
	return WriteFile(cutOffPath(in), c)
}

// DropCutOff removes the note, when the blackboard knows.
func DropCutOff(in *Instance) error {
	if err := os.Remove(cutOffPath(in)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("forget a stop that the blackboard knows of now: %w", err)
	}
	return nil
}
