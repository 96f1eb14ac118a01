package blackboard

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
)

const someID = "01M7YKFVV8SHATWJZGV58YQFT7"

func TestNewID(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_999_999, time.FixedZone("", 3600))
	id := NewID(at, strings.NewReader("0123456789"))
	if want := "01KDY7585E60RK4CSM6MV3EE1S"; id != want {
		t.Errorf("got %s, want %s", id, want)
	}
	if got := IDTime(id); !got.Equal(at.Truncate(time.Millisecond)) || got.Location() != time.UTC {
		t.Errorf("its time is %s", got)
	}
	if len(id) != IDLength || !ValidID(id) {
		t.Errorf("%s is not valid", id)
	}
}

func TestValidID(t *testing.T) {
	for s, want := range map[string]bool{
		someID: true, strings.ToLower(someID): false, "": false, someID[1:]: false, someID + "0": false,
		"8" + someID[1:]: false, "U" + someID[1:]: false, someID[:25] + "I": false, someID[:25] + "\n": false,
		"7ZZZZZZZZZZZZZZZZZZZZZZZZZ": true, "00000000000000000000000000": true,
	} {
		if ValidID(s) != want {
			t.Errorf("%q: got %v", s, !want)
		}
	}
	if !IDTime("nonsense").IsZero() {
		t.Error("nonsense has a time")
	}
}

// The ids derived from others are part of what is stored: they never change.
func TestDerivedIDs(t *testing.T) {
	for name, tc := range map[string]struct{ got, want string }{
		"bidding claim": {BiddingClaimID(someID), "01M7YKFVV8Q15TDA3KWQV8X19R"},
		"rework claim":  {ReworkClaimID(someID), "01M7YKFVV8C3PBJJ91DA0X4VB2"},
		"artefact":      {DerivedArtefactID(TypeWorkflowLimit, someID), "01M7YKFVV8V856AAC1C1KPXQM6"},
		"of no id":      {BiddingClaimID("nonsense"), "00000000005GNXX7XZD6BG0PN2"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %s, want %s", name, tc.got, tc.want)
		}
		if !ValidID(tc.got) {
			t.Errorf("%s: %s is not valid", name, tc.got)
		}
	}
	if !IDTime(ReworkClaimID(BiddingClaimID(someID))).Equal(IDTime(someID)) {
		t.Error("a derived id has another time than its subject")
	}
	var subjects, derived []string
	for i := range 20 {
		subjects = append(subjects, NewID(time.UnixMilli(int64(1000*i)), rand.Reader))
		derived = append(derived, BiddingClaimID(subjects[i]))
	}
	if !slices.IsSorted(derived) {
		t.Errorf("derived ids do not sort by time: %v", derived)
	}
}

func TestShortID(t *testing.T) {
	for s, want := range map[string]string{someID: "V58YQFT7", "short": "short", "": "", "12345678": "12345678"} {
		if got := ShortID(s); got != want {
			t.Errorf("short %q: %q", s, got)
		}
	}
}

func TestNormalizeIDPart(t *testing.T) {
	for s, want := range map[string]string{
		someID: someID, strings.ToLower(someID): someID, "oil": "011", "OIL": "011", "abc": "ABC", "0": "0",
		"": "", "u": "", "a b": "", "é": "", "\xff": "", someID + "0": "", "@last": "",
	} {
		got, ok := NormalizeIDPart(s)
		if got != want || ok != (want != "") {
			t.Errorf("%q: got %q %v, want %q", s, got, ok, want)
		}
	}
}

func FuzzNormalizeIDPart(f *testing.F) {
	for _, s := range []string{"", someID, "oil", "u", "\xff", "ı", strings.Repeat("0", 27)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := NormalizeIDPart(s)
		if !ok {
			if got != "" {
				t.Errorf("%q: %q without ok", s, got)
			}
			return
		}
		if got == "" || len(got) > IDLength || strings.Trim(got, ulid.Encoding) != "" {
			t.Errorf("%q: %q cannot be a part of an id", s, got)
		}
		if again, ok := NormalizeIDPart(got); !ok || again != got {
			t.Errorf("%q: %q becomes %q", s, got, again)
		}
	})
}

func FuzzValidID(f *testing.F) {
	for _, s := range []string{"", someID, strings.ToLower(someID), "8" + someID[1:], "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		norm, ok := NormalizeIDPart(s)
		if ValidID(s) && (!ok || norm != s || IDTime(s).IsZero()) {
			t.Errorf("%q is valid, normalizes to %q, has time %s", s, norm, IDTime(s))
		}
		if id := BiddingClaimID(s); !ValidID(id) {
			t.Errorf("%q: derived %q", s, id)
		}
	})
}
