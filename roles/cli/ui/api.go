package ui

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"sett/roles/cli/act"
	"sett/roles/role"
)

// read is a command that only reads. Its path is /api/v1/NAME or /api/v1/NAME/ID, its
// flags are the query.
type read struct {
	words []string // before the flags; nil: the name
	flags []string // that the query may set
	bare  []string // flags without a value
	forms []string // of output=, beside json
	id    bool     // it takes an id or a name
	file  bool     // it takes a file, and lines of it, as a commit has them
}

// reads are the commands of the API.
var reads = map[string]read{
	"list":      {words: []string{"list", "--verbose"}},
	"goals":     {flags: []string{"status", "limit"}},
	"show":      {bare: []string{"no-claims"}, id: true},
	"hoard":     {flags: []string{"type", "agent", "since", "until", "workflow", "limit"}},
	"questions": {flags: []string{"workflow"}},
	"plan":      {bare: []string{"walked"}, forms: []string{"svg"}},
	"models":    {words: []string{"models", "show"}, flags: []string{"limit"}, id: true},
	"why":       {id: true},
	"graph":     {flags: []string{"depth"}, id: true},
	"unearth":   {bare: []string{"meta", "diff", "previous"}, id: true},
	"diff":      {id: true},
	"report":    {flags: []string{"only"}, bare: []string{"no-patches"}, forms: []string{"timeline", "graph"}, id: true},
	"logs":      {flags: []string{"lines", "since", "claim", "workflow"}, id: true},
	"blame":     {flags: []string{"at"}, file: true},
	"watch":     {flags: []string{"since", "until", "workflow", "type", "agent"}, bare: []string{"waits"}},
}

// api answers a request of the API.
func (s *Server) api(w http.ResponseWriter, r *http.Request, path string) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !s.Keys.opens(api, key) {
		s.unknown(w)
		return
	}
	name, id, _ := strings.Cut(path, "/")
	if id != "" {
		var err error
		if id, err = url.PathUnescape(id); err != nil || !isName(id) {
			s.refuse(w, http.StatusNotFound, strconv.Quote(path)+" names nothing", "")
			return
		}
	}
	if _, ok := act.Moves[name]; ok {
		s.act(w, r, name, id)
		return
	}
	c, ok := reads[name]
	switch {
	case !ok:
		s.refuse(w, http.StatusNotFound, "the API has no "+strconv.Quote(name), "roles/cli/ui/README.md lists what it has")
	case r.Method != http.MethodGet:
		s.refuse(w, http.StatusMethodNotAllowed, name+" is read with GET", "")
	case id != "" && !c.id:
		s.refuse(w, http.StatusNotFound, name+" takes no id", "")
	default:
		s.read(w, r, name, id, c)
	}
}

// read runs a command, and answers with its output.
func (s *Server) read(w http.ResponseWriter, r *http.Request, name, id string, c read) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		s.refuse(w, http.StatusBadRequest, "the query cannot be read", "")
		return
	}
	args, mime, why := c.line(name, id, query)
	if why != "" {
		s.refuse(w, http.StatusBadRequest, why, "")
		return
	}
	if name == "list" {
		args = append(args, "--", s.Instance)
	}
	if name == "watch" {
		if !query.Has("until") {
			s.stream(w, r, args)
			return
		}
		args, mime = append(args, "--output=jsonl"), "application/jsonl"
	}
	var out, said bytes.Buffer
	err = s.Run(r.Context(), args, strings.NewReader(""), &out, &said)
	switch {
	case r.Context().Err() != nil:
		return // nobody reads the answer, and the command may still write
	case err != nil && out.Len() == 0:
		s.failed(w, err, http.StatusInternalServerError)
		return
	case err != nil: // records that cannot be read are left out
		w.Header().Set("Sett-Warning", strconv.QuoteToASCII(err.Error()))
	}
	w.Header().Set("Content-Type", mime+"; charset=utf-8")
	_, _ = w.Write(out.Bytes())
}

// line is the command line of a request, and the type of its answer; else why there is
// none.
func (c read) line(name, id string, query url.Values) (args []string, mime, why string) {
	args, mime = []string{name}, "application/json"
	if c.words != nil {
		args = slices.Clone(c.words)
	}
	output := "json"
	for _, flag := range slices.Sorted(maps.Keys(query)) {
		value := query.Get(flag)
		switch {
		case c.file && (flag == "file" || flag == "lines"):
		case flag == "output" && (value == "json" || slices.Contains(c.forms, value)):
			output = value
		case slices.Contains(c.flags, flag):
			args = append(args, "--"+flag+"="+value)
		case slices.Contains(c.bare, flag) && (value == "" || value == "true"):
			args = append(args, "--"+flag)
		default:
			return nil, "", name + " has no " + strconv.Quote(flag) + " of that value"
		}
	}
	if name != "watch" {
		args = append(args, "--output="+output)
	}
	if output != "json" {
		mime = "image/svg+xml"
	}
	if id != "" {
		args = append(args, "--", id)
	}
	if c.file {
		file, lines := query.Get("file"), query.Get("lines")
		if file == "" || query.Get("at") == "" { // without a commit it would be a path of this machine
			return nil, "", name + " needs a file, and at=: the commit that has it"
		}
		if lines != "" {
			file += ":" + lines
		}
		args = append(args, "--", file)
	}
	return args, mime, ""
}

// isName says whether a text may be an id, a part of one, or the name of an agent.
func isName(s string) bool {
	const most = 128
	return s != "" && len(s) <= most && strings.IndexFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && !strings.ContainsRune("-_.@", r)
	}) < 0
}

// refuse answers a request that no command was run for.
func (s *Server) refuse(w http.ResponseWriter, status int, why, hint string) {
	answer(w, status, act.Problem{Error: why, Hint: hint})
}

// failed answers with a command's error. other is the status where the exit code says
// no more than that it failed.
func (s *Server) failed(w http.ResponseWriter, err error, other int) {
	status, p := problemOf(err, other)
	answer(w, status, p)
}

func problemOf(err error, other int) (int, act.Problem) {
	status := other
	switch code := role.CodeOf(err); {
	case code == role.TimedOut:
		status = http.StatusGatewayTimeout
	case role.Passing(err): // also of an instance that does not run, which has the exit code of an unknown id
		status = http.StatusServiceUnavailable
	case code == role.Usage:
		status = http.StatusBadRequest
	case code == role.NotFound:
		status = http.StatusNotFound
	}
	return status, act.ProblemOf(err)
}

// answer writes a value as JSON.
func answer(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		body = []byte(`{"error":"the answer cannot be written"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n'))
}
