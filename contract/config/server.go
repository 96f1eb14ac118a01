package config

import "strings"

// urlSetting is a URL and its place.
type urlSetting struct {
	url string
	at  position
}

// url is the URL of a Redis server. Two keys set it; only the key with a from writes
// it.
func (d *decoder) url(into *urlSetting, from *string) part {
	p := d.read.text(&into.url, redisURL)
	read := p.read
	p.read = func(n *node, path string) {
		into.at = n.at
		read(n, path)
	}
	p.write = func() any {
		if from == nil {
			return nil
		}
		return given(*from)
	}
	return p
}

// oneURL sets the Redis server's URL, which two keys may have.
func (d *decoder) oneURL(f *file) {
	redis, service := f.redis, f.service
	if redis.url != "" && service.url != "" && redis.url != service.url {
		at := service.at
		if redis.at.line > at.line {
			at = redis.at
		}
		d.add(at, "they mean the same server; keep one of them", "redis.url and services.redis.url differ")
	}
	url := redis.url
	if url == "" {
		url = service.url
	}
	f.config.Redis.URL, f.config.Services.Redis.URL = url, url
	if f.config.Redis.CAFile != "" && strings.HasPrefix(url, "redis://") {
		d.add(f.caFile, "write rediss:// in the URL, or leave ca_file out", "redis.ca_file is for TLS, and redis.url has none")
	}
}

// caFile reads the file with the server's CA, and records the place of the key.
func caFile(d *decoder, f *file) part {
	p := d.read.text(&f.config.Redis.CAFile, oneLine)
	read := p.read
	p.read = func(n *node, path string) {
		f.caFile = n.at
		read(n, path)
	}
	return p
}

// embedded chooses sett's own server, and records the place of the key.
func (d *decoder) embedded(f *file) part {
	p := d.read.flag(&f.config.Services.Redis.Embedded)
	read := p.read
	p.read = func(n *node, path string) {
		f.embedded = n.at
		read(n, path)
	}
	return p
}

// oneServer refuses a URL beside sett's own server.
func (d *decoder) oneServer(f *file) {
	if !f.config.Services.Redis.Embedded || f.config.Redis.URL == "" {
		return
	}
	given := "services.redis.url"
	if f.service.url == "" {
		given = "redis.url"
	}
	at := f.embedded
	for _, s := range []urlSetting{f.redis, f.service} {
		if s.url != "" {
			at = latest(at, s.at)
		}
	}
	d.add(at, "keep one of them", "services.redis.embedded and %s name two servers", given)
}
