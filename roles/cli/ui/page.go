package ui

import (
	"embed"
	"path"
	"sync"

	"sett/roles/view/diagram"
)

//go:embed page
var files embed.FS

// part is a file of the page.
type part struct {
	mime string
	body []byte
}

// parts are the files of the page by their names; the empty name is the page itself.
var parts = sync.OnceValue(func() map[string]part {
	all := map[string]part{"picture.css": {"text/css; charset=utf-8", []byte(diagram.Style)}}
	for name, mime := range map[string]string{
		"index.html": "text/html; charset=utf-8", "app.css": "text/css; charset=utf-8",
		"app.js": jsType, "dom.js": jsType, "wire.js": jsType, "views.js": jsType,
	} {
		body, err := files.ReadFile(path.Join("page", name))
		if err != nil {
			panic(err) // the build embeds them
		}
		all[name] = part{mime, body}
	}
	all[""] = all["index.html"]
	return all
})

const jsType = "text/javascript; charset=utf-8"
