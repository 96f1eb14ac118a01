package blackboard

import (
	"crypto/sha256"
	"io"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
)

// IDLength is the number of characters in an id.
const IDLength = ulid.EncodedSize

// NewID returns a new id: a ULID of the given time, with ten bytes of the given
// entropy. It panics if entropy cannot be read, which for crypto/rand never
// happens.
func NewID(now time.Time, entropy io.Reader) string {
	return ulid.MustNew(ulid.Timestamp(now), entropy).String()
}

// ValidID says whether s has the form of an id: 26 characters of Crockford's
// base32 in upper case.
func ValidID(s string) bool {
	id, err := ulid.ParseStrict(s)
	return err == nil && id.String() == s
}

// IDTime returns the time an id was made at, to the millisecond, and the zero
// time when s is no id.
func IDTime(s string) time.Time {
	id, err := ulid.ParseStrict(s)
	if err != nil {
		return time.Time{}
	}
	return ulid.Time(id.Time()).UTC()
}

// BiddingClaimID returns the id of the one bidding claim that an artefact can have. It
// is derived from the artefact's id: every attempt to open the claim opens the same
// one, so "exactly one claim per artefact" holds by construction.
func BiddingClaimID(artefactID string) string { return derivedID("claim", artefactID) }

// ReworkClaimID returns the id of the one rework claim that feedback on a claim
// can lead to.
func ReworkClaimID(claimID string) string { return derivedID("rework", claimID) }

// GateReviewID returns the id of the one Review by which a person decides about
// an artefact that waits for approval.
func GateReviewID(artefactID string) string { return derivedID("gate", artefactID) }

// DerivedArtefactID returns the id of the one artefact that may be made for a
// reason about a subject, for example the WorkflowLimit failure of a workflow.
// Two processes that make it make the same one.
func DerivedArtefactID(reason, subjectID string) string { return derivedID(reason, subjectID) }

// derivedID keeps the subject's time, so that ids still sort by time, and draws
// the rest from a hash of purpose and subject.
func derivedID(purpose, subjectID string) string {
	sum := sha256.Sum256([]byte(purpose + "\x00" + subjectID))
	var id ulid.ULID
	if subject, err := ulid.ParseStrict(subjectID); err == nil {
		_ = id.SetTime(subject.Time())
	}
	_ = id.SetEntropy(sum[:10])
	return id.String()
}

// ShortIDLength is the number of characters of an id's ending that tables show.
const ShortIDLength = 8

// ShortID returns the ending of an id that tables show.
func ShortID(id string) string {
	if len(id) <= ShortIDLength {
		return id
	}
	return id[len(id)-ShortIDLength:]
}

// NormalizeIDPart prepares a typed part of an id for a look-up by prefix or ending:
// upper case, with Crockford's look-alikes (I, L, O) replaced. It reports false when s
// cannot be a part of an id.
func NormalizeIDPart(s string) (string, bool) {
	s = strings.NewReplacer("I", "1", "L", "1", "O", "0").Replace(strings.ToUpper(s))
	if s == "" || len(s) > IDLength {
		return "", false
	}
	for _, r := range s {
		if !strings.ContainsRune(ulid.Encoding, r) {
			return "", false
		}
	}
	return s, true
}

// Kind is the kind of record that an id names.
type Kind string

// The kinds of records with an id.
const (
	KindArtefact Kind = "artefact"
	KindClaim    Kind = "claim"
)
