package supervisor

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// lastWords are the last lines of a cub's log as far as they are about one attempt of one claim. A cub
// that works on several claims logs all of them: other claims and goals must not get into a Failure.
type lastWords struct {
	stdout, stderr string // of its tool, as the tool wrote them
	log            string // the cub's own words
}

// aboutOthers are the attributes of a log line that say to which goal it belongs, beside the claim's.
var aboutOthers = []string{"workflow", "artefact", "artefacts", "claims", "notice", "source"}

// wordsOn reads the last lines of a cub's log. Lines that name no claim, as of a crash, are the cub's own words.
func wordsOn(claim string, attempt int, tail string) (w lastWords) {
	for line := range strings.Lines(tail) {
		line = strings.TrimRight(line, "\r\n")
		var said map[string]any
		if err := json.Unmarshal([]byte(line), &said); err != nil {
			if isPlain(line) {
				w.log += line + "\n"
			}
			continue
		}
		if n, told := said["attempt"].(float64); told && int(n) != attempt {
			continue
		}
		text, _ := said["line"].(string)
		of, told := said["claim"].(string)
		switch {
		case told && of != claim, !told && isAboutOthers(said):
		case said["source"] == "tool" && said["msg"] == "stdout":
			w.stdout += text + "\n"
		case said["source"] == "tool" && said["msg"] == "stderr":
			w.stderr += text + "\n"
		default:
			w.log += ownWords(said)
		}
	}
	return w
}

// isPlain says whether a line is no entry of a log, nor a part of one.
func isPlain(line string) bool {
	return strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "{") && !strings.HasSuffix(line, "}") && !strings.HasPrefix(line, "time=")
}

func isAboutOthers(said map[string]any) bool {
	return slices.ContainsFunc(aboutOthers, func(key string) bool { return said[key] != nil })
}

// ownWords is a line of the cub for people, without the attributes that the Failure has itself.
func ownWords(said map[string]any) string {
	line := fmt.Sprint(said["time"], " ", said["level"], " ", said["msg"])
	for _, key := range slices.Sorted(maps.Keys(said)) {
		switch key {
		case "time", "level", "msg", "component", "instance", "agent", "claim", "workflow", "phase", "attempt", "stdin":
			continue
		}
		value, err := json.Marshal(said[key])
		if err == nil {
			line += " " + key + "=" + string(value)
		}
	}
	return line + "\n"
}
