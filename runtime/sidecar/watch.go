package sidecar

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
)

// How often files are looked at without being told to.
const (
	// sweepAlone is for a host without file events.
	sweepAlone = 250 * time.Millisecond
	// sweepSilent is for as long as no event came: some file systems give none.
	sweepSilent = time.Second
	// sweepEvery is the net below events that do come.
	sweepEvery = 10 * time.Second
)

// Watcher tells that files changed. It watches their folders, since an atomic
// replacement is a new file, and looks at each of them now and then. It says
// only that something changed: what, the reader finds out. A supervisor that
// was killed changes no file.
type Watcher struct {
	events  *fsnotify.Watcher // nil where there are no file events
	changed chan string
	added   chan string
	stop    chan struct{}
	stopped chan struct{}
	blind   atomic.Bool // some folder gives no events

	mu      sync.Mutex
	files   map[string]stamp
	folders map[string]int // how many files are watched in it
}

// stamp is what a file looked like. The zero value is a missing file.
type stamp struct {
	there bool
	size  int64
	mod   int64
	inode uint64
}

// NewWatcher starts a watcher without files. It ends with Close.
func NewWatcher() (*Watcher, error) {
	w := newWatcher()
	// Without file events (limits of the host, exotic systems) the sweep does.
	if events, err := fsnotify.NewWatcher(); err == nil {
		w.events = events
	}
	go w.run()
	return w, nil
}

func newWatcher() *Watcher {
	return &Watcher{
		changed: make(chan string),
		added:   make(chan string, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
		files:   map[string]stamp{},
		folders: map[string]int{},
	}
}

// Add watches a file, which need not exist yet; its folder should. Where it
// exists it is delivered once, so that no change before Add is missed.
func (w *Watcher) Add(path string) {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	w.mu.Lock()
	if _, known := w.files[path]; known {
		w.mu.Unlock()
		return
	}
	w.files[path] = stamp{}
	w.folders[dir]++
	first := w.folders[dir] == 1
	w.mu.Unlock()
	if first && w.events != nil {
		if err := w.events.Add(dir); err != nil {
			w.blind.Store(true) // the sweep finds what this cannot
		}
	}
	select {
	case w.added <- path:
	default: // a sweep is asked for already
	}
}

// Remove watches a file no longer.
func (w *Watcher) Remove(path string) {
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	w.mu.Lock()
	_, known := w.files[path]
	last := false
	if known {
		delete(w.files, path)
		w.folders[dir]--
		if last = w.folders[dir] == 0; last {
			delete(w.folders, dir)
		}
	}
	w.mu.Unlock()
	if last && w.events != nil {
		_ = w.events.Remove(dir)
	}
}

// Changed delivers the paths of changed files, as they were given to Add and
// cleaned. A file that changes often is delivered less often than it changes.
// The channel is never closed.
func (w *Watcher) Changed() <-chan string { return w.changed }

// Close ends the watcher and waits for it.
func (w *Watcher) Close() error {
	close(w.stop)
	<-w.stopped
	if w.events != nil {
		return w.events.Close()
	}
	return nil
}

func (w *Watcher) run() {
	defer close(w.stopped)
	every := sweepSilent
	var events chan fsnotify.Event
	var errs chan error
	if w.events != nil {
		events, errs = w.events.Events, w.events.Errors
	} else {
		every = sweepAlone
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var queue []string
	waiting := map[string]bool{}
	note := func(path string) {
		if !waiting[path] {
			waiting[path] = true
			queue = append(queue, path)
		}
	}
	for {
		var out chan string
		var next string
		if len(queue) > 0 {
			out, next = w.changed, queue[0]
		}
		select {
		case <-w.stop:
			return
		case out <- next:
			queue = queue[1:]
			delete(waiting, next)
		case e := <-events:
			// Most events are those of logs beside the files.
			path := filepath.Clean(e.Name)
			if !w.moved(path) {
				continue
			}
			note(path)
			if every == sweepSilent && !w.blind.Load() {
				every = sweepEvery
				tick.Reset(every)
			}
		case <-errs: // a full queue dropped some
			w.sweep(note)
		case <-w.added:
			w.sweep(note)
			if every == sweepEvery && w.blind.Load() {
				every = sweepSilent
				tick.Reset(every)
			}
		case <-tick.C:
			w.sweep(note)
		}
	}
}

func (w *Watcher) sweep(note func(string)) {
	w.mu.Lock()
	paths := make([]string, 0, len(w.files))
	for p := range w.files {
		paths = append(paths, p)
	}
	w.mu.Unlock()
	for _, p := range paths {
		if w.moved(p) {
			note(p)
		}
	}
}

// moved reports whether a watched file looks other than it did, and remembers.
func (w *Watcher) moved(path string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	was, known := w.files[path]
	if !known {
		return false
	}
	now := look(path)
	w.files[path] = now
	return now != was
}

func look(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil {
		return stamp{}
	}
	return stamp{there: true, size: info.Size(), mod: info.ModTime().UnixNano(), inode: inode(info)}
}
