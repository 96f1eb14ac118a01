package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// imports is an import that is under way.
type imports struct {
	c     *store.Conn
	mark  mark
	o     ImportOptions
	lines *lineReader
	stage *stage
	head  HeaderLine

	counts    Counts
	kind      int             // the place among lineKinds of the line before
	artefacts recorded        // their digests, for the ledger
	known     map[string]bool // claims, and workflows as "workflow ID"
	entries   entries
	records   records
	heard     heard
	listed    *listed          // claims, with their bids
	bids      map[string]error // of claims whose bids are not as the ledger has them
	toCount   []string         // goals with work, or with counts that cannot be
}

func (i *imports) wrong(format string, args ...any) error {
	return &FormatError{i.lines.number, fmt.Sprintf(format, args...)}
}

// line reads the next line and its kind. A file that was cut off is an error.
func (i *imports) line() (line []byte, kind string, err error) {
	line, err = i.lines.next()
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, "", i.wrong("the file ends before its footer: it was cut off")
	case errors.Is(err, errLongLine):
		return nil, "", i.wrong("%s", err)
	case err != nil:
		return nil, "", fmt.Errorf("read line %d: %w", i.lines.number, err)
	}
	kind, err = KindOfLine(line)
	if err != nil {
		return nil, "", i.wrong("%s", err)
	}
	return line, kind, nil
}

// KindOfLine reads the kind, which is the first thing in a line.
func KindOfLine(line []byte) (string, error) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"kind":"`))
	end := bytes.IndexByte(rest[:min(len(rest), 40)], '"')
	if !ok || end < 0 {
		return "", errors.New("it is no line of an export")
	}
	return string(rest[:end]), nil
}

// header reads the first line.
func (i *imports) header() error {
	line, kind, err := i.line()
	if err != nil {
		return err
	}
	if kind != LineHeader {
		return i.wrong("it is no header: this is no export of a ledger")
	}
	// The format first: another one may have another header.
	var format struct {
		Format int    `json:"format"`
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(line, &format); err != nil {
		return i.wrong("%s", err)
	}
	if format.Format != Format {
		return i.wrong("the export has format %d, this sett reads %d", format.Format, Format)
	}
	if format.Schema != Schema {
		return i.wrong("the export has records of schema %s, this sett reads %s", format.Schema, Schema)
	}
	if err := i.decode(line, &i.head); err != nil {
		return err
	}
	i.lines.accept()
	return nil
}

// decode reads a line strictly: a field that this sett does not know would be
// lost.
func (i *imports) decode(line []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(to); err != nil {
		return i.wrong("%s", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return i.wrong("there is more than one value in it")
	}
	return nil
}

// next reads a line, checks it and stages its record. It returns its kind.
func (i *imports) next() (string, error) {
	line, kind, err := i.line()
	if err != nil {
		return "", err
	}
	place := placeOf(kind)
	switch {
	case place < 0:
		return "", i.wrong("unknown kind %q: the export is of a newer sett, or damaged", kind)
	case place == 0:
		return "", i.wrong("there is a second header")
	case place < i.kind:
		return "", i.wrong("a line of kind %s comes after one of kind %s", kind, lineKinds[i.kind])
	}
	i.kind = place
	if kind == lineFooter {
		return kind, i.footer(line)
	}
	read := map[string]func([]byte) error{
		LineArtefact: i.artefact, lineLost: i.lost, LineClaim: i.claim, LineWorkflow: i.workflow, LineOpen: i.open, LineCall: i.call, LineEvent: i.event,
	}
	if err := read[kind](line); err != nil {
		return "", err
	}
	i.lines.accept()
	i.counts.Count(kind)
	return kind, nil
}

func (i *imports) artefact(line []byte) error {
	var l ArtefactLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	stored, err := l.storedFields()
	if err != nil {
		return i.wrong("%s", err)
	}
	id := l.Artefact.ID
	if i.artefacts[id] != nil {
		return i.wrong("artefact %s is in the file twice", id)
	}
	i.artefacts.add(id, stored)
	return i.stage.artefact(id, stored)
}

// lost takes an artefact as it is: its id alone, or with a record that nobody can
// read, or that is not as the ledger recorded it.
func (i *imports) lost(line []byte) error {
	var l lostLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	switch {
	case !blackboard.ValidID(l.ID):
		return i.wrong("%q is no id of an artefact", l.ID)
	case i.artefacts[l.ID] != nil:
		return i.wrong("artefact %s is in the file twice", l.ID)
	}
	a, err := store.DecodeArtefact(l.ID, textOf(l.Stored))
	readable := err == nil && a.ID == l.ID
	i.artefacts.lose(l.ID, readable)
	return i.stage.lost(l, readable)
}

func (i *imports) claim(line []byte) error {
	var l ClaimLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	artefact := string(l.Fields["artefact_id"])
	switch {
	case !blackboard.ValidID(l.ID) || another(l.Fields["id"], l.ID):
		return i.wrong("%q is no id of a claim", l.ID)
	case i.known[l.ID]:
		return i.wrong("claim %s is in the file twice", l.ID)
	case blackboard.ValidID(artefact) && i.artefacts[artefact] == nil:
		return i.wrong("claim %s is on artefact %s, which is not in the file", l.ID, artefact)
	}
	i.known[l.ID] = true
	i.listed.addClaim(l)
	i.records.addClaim(l)
	return i.stage.claim(l)
}

func (i *imports) workflow(line []byte) error {
	var l WorkflowLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	switch {
	case another(l.Fields["id"], l.ID) || i.artefacts[l.ID] == nil:
		return i.wrong("workflow %s has no goal in the file", l.ID)
	case i.known[workflowOf(l.ID)]:
		return i.wrong("workflow %s is in the file twice", l.ID)
	}
	i.known[workflowOf(l.ID)] = true
	i.records.addGoal(l)
	if l.counts() {
		i.toCount = append(i.toCount, l.ID)
	}
	return i.stage.workflow(l)
}

// another says whether a record is of another id than its line. Of a broken one,
// which is taken as it is, that is not known.
func another(stored Exact, id string) bool {
	return string(stored) != id && blackboard.ValidID(string(stored))
}

func workflowOf(id string) string { return "workflow " + id }

func (i *imports) open(line []byte) error {
	var l openLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	if _, err := strconv.ParseFloat(l.Since, 64); err != nil {
		return i.wrong("since %q is no time", l.Since)
	}
	known := i.known[l.ID] || i.artefacts[l.ID] != nil
	if l.Index == "workflows" || l.Index == "landings" {
		known = i.known[workflowOf(l.ID)]
	}
	if !known {
		return i.wrong("%s is open and not in the file", l.ID)
	}
	if err := i.stage.open(l); err != nil {
		return i.wrong("%s", err)
	}
	return nil
}

func (i *imports) call(line []byte) error {
	var l callLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	if !i.known[workflowOf(string(l.Fields["workflow"]))] {
		return i.wrong("call %s is of goal %q, which is not in the file", l.ID, l.Fields["workflow"])
	}
	i.stage.call(l)
	return nil
}

// footer checks that the file is whole, and that nothing follows.
func (i *imports) footer(line []byte) error {
	var l FooterLine
	if err := i.decode(line, &l); err != nil {
		return err
	}
	if l.SHA256 != i.lines.sum() {
		return i.wrong("the file was changed: its lines have SHA-256 %s, its footer says %s", i.lines.sum(), l.SHA256)
	}
	if l.Counts != i.counts {
		return i.wrong("the file has %+v, its footer says %+v", i.counts, l.Counts)
	}
	if err := errors.Join(i.artefacts.rest(), i.entries.rest()); err != nil {
		return i.wrong("%s", err)
	}
	if _, err := i.lines.next(); !errors.Is(err, io.EOF) {
		return i.wrong("there is something after the footer")
	}
	return nil
}
