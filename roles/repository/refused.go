package repository

import (
	"strings"
	"sync"

	line "sett/roles/role/repository"
)

// refused has the requests that cubs repeat because of a trouble of the machine, such as a full disk. A cub asks
// every other second, perhaps for hours: the log has each cause once.
type refused struct {
	mu     sync.Mutex
	causes map[string]string
}

// say says whether a request's error is news. An answer ends the trouble.
func (r *refused) say(request string, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil || line.Answered(err) {
		delete(r.causes, request)
		return err != nil
	}
	cause := unnumbered(err.Error())
	if r.causes == nil {
		r.causes = map[string]string{}
	}
	if r.causes[request] == cause {
		return false
	}
	r.causes[request] = cause
	return true
}

// unnumbered is a text without its digits and hashes: temporary files and objects have other ones in each try.
func unnumbered(text string) string {
	return strings.Map(func(c rune) rune {
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'f' {
			return -1
		}
		return c
	}, text)
}
