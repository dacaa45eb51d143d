package supervise

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/okstra/okstra/runtime/providers"
)

// The screen is for people and may be slow, stopped or gone, so it never makes
// anybody wait: lines go into a short queue, a painter empties it a few times a
// second, and a flood shows its tail.
const (
	paintEvery  = 50 * time.Millisecond
	paintLines  = 100 // in one go: 2,000 lines a second at most
	closeWithin = time.Second
)

type screen struct {
	out   *os.File
	color bool

	mu      sync.Mutex
	queue   []string
	skipped int
	ring    chan struct{} // there is something to paint
	closing chan struct{}
	closed  chan struct{}
	once    sync.Once // closes closing
}

// newScreen paints on a terminal; on anything else it shows nothing but
// messages.
func newScreen(out *os.File) *screen {
	s := &screen{out: out, ring: make(chan struct{}, 1), closing: make(chan struct{}), closed: make(chan struct{})}
	if !term.IsTerminal(int(out.Fd())) {
		close(s.closed)
		return s
	}
	s.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	go s.paint()
	return s
}

func (s *screen) shut() bool {
	select {
	case <-s.closed:
		return true
	default:
		return false
	}
}

// show queues one line of the worker's.
func (s *screen) show(l providers.Shown) {
	if s.shut() {
		return
	}
	s.push(s.style(l))
}

// message queues one line of okstra's own; without a terminal it goes to the
// standard error, where a backend may keep it.
func (s *screen) message(text string) {
	text = providers.Clean(text)
	if s.shut() {
		fmt.Fprintln(os.Stderr, text)
		return
	}
	s.push(text)
}

func (s *screen) push(line string) {
	s.mu.Lock()
	if len(s.queue) >= paintLines {
		s.queue = s.queue[1:]
		s.skipped++
	}
	s.queue = append(s.queue, line)
	s.mu.Unlock()
	select {
	case s.ring <- struct{}{}:
	default:
	}
}

func (s *screen) paint() {
	defer close(s.closed)
	for {
		select {
		case <-s.ring:
		case <-s.closing:
			s.flush()
			return
		}
		if !s.flush() {
			return
		}
		pause := time.NewTimer(paintEvery)
		select {
		case <-pause.C:
		case <-s.closing:
			pause.Stop()
			s.flush()
			return
		}
	}
}

// flush writes the queue. A terminal that is gone (EIO) is no fault of anybody's.
func (s *screen) flush() bool {
	s.mu.Lock()
	queue, skipped := s.queue, s.skipped
	s.queue, s.skipped = nil, 0
	s.mu.Unlock()
	var b strings.Builder
	if skipped > 0 {
		fmt.Fprintf(&b, "[%d lines not shown here; the log has them]\n", skipped)
	}
	for _, line := range queue {
		b.WriteString(line)
		b.WriteByte('\n')
	}
	_, err := s.out.WriteString(b.String())
	return err == nil
}

// close paints what is left, but waits for no terminal that was stopped.
func (s *screen) close() {
	if s.shut() {
		return
	}
	s.once.Do(func() { close(s.closing) })
	limit := time.NewTimer(closeWithin)
	defer limit.Stop()
	select {
	case <-s.closed:
	case <-limit.C:
	}
}

// style marks lines that the model did not say. The text is harmless already.
func (s *screen) style(l providers.Shown) string {
	code := ""
	switch l.Kind {
	case providers.ShownTool, providers.ShownUsage, providers.ShownInfo:
		code = "2" // faint
	case providers.ShownError:
		code = "31" // red
	}
	if code == "" || !s.color {
		return l.Text
	}
	return "\x1b[" + code + "m" + l.Text + "\x1b[0m"
}
