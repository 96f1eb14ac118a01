package modelclient

import "testing"

func TestNoStreamWithoutWords(t *testing.T) {
	if got := noStream("application/json", []byte(" \n")).Error(); got != `the answer is no stream of events but "application/json"` {
		t.Error(got)
	}
}
