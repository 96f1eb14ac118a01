package process

func newWatcher(string) watcher { return newTicker() }
