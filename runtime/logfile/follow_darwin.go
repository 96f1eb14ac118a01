package logfile

func newWatcher(string) watcher { return newTicker() }
