package supervise

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/okstra/okstra/runtime/providers"
)

// pipe carries one output of the worker: every byte into its log, then on to a
// consumer. It never stops the worker: what cannot be logged is dropped and
// counted. It ends with the last holder of the other end, or with hurry.
type pipe struct {
	read    *os.File
	write   *os.File // the worker's end, closed once that has started
	log     *os.File
	bytes   atomic.Int64
	dropped atomic.Int64
	done    chan struct{}
}

func openPipe(logPath string) (*pipe, error) {
	log, err := os.OpenFile(logPath, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		log.Close()
		return nil, err
	}
	return &pipe{read: r, write: w, log: log, done: make(chan struct{})}, nil
}

// carry runs until the end of the output, calls end and closes done. took is
// called with every piece, after it was logged.
func (p *pipe) carry(took func([]byte), end func()) {
	defer close(p.done)
	defer end()
	buf := make([]byte, 128<<10)
	for {
		n, err := p.read.Read(buf)
		if n > 0 {
			p.bytes.Add(int64(n))
			if wrote, err := p.log.Write(buf[:n]); err != nil {
				p.dropped.Add(int64(n - wrote))
			}
			took(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// hurry ends carry although somebody still holds the other end.
func (p *pipe) hurry() { _ = p.read.SetReadDeadline(time.Unix(1, 0)) }

func (p *pipe) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *pipe) close() error { return errors.Join(p.read.Close(), p.log.Close()) }

// closeQuietly closes what may be closed already.
func closeQuietly(c io.Closer) { _ = c.Close() }

// lines cuts bytes into lines, and lines longer than max into pieces.
type lines struct {
	max  int
	part []byte // of an unfinished line
	take func(line []byte, more bool)
}

func (l *lines) feed(b []byte) {
	for len(b) > 0 {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.keep(b)
			return
		}
		line := b[:i]
		if len(l.part)+len(line) > l.max {
			l.keep(line)
			line = nil
		}
		if len(l.part) > 0 {
			line = append(l.part, line...)
		}
		l.take(bytes.TrimSuffix(line, []byte("\r")), false)
		l.part = l.part[:0]
		b = b[i+1:]
	}
}

// keep adds to the unfinished line and passes on what is too long to keep.
func (l *lines) keep(b []byte) {
	for len(l.part)+len(b) > l.max {
		n := l.max - len(l.part)
		l.part = append(l.part, b[:n]...)
		b = b[n:]
		l.take(l.part, true)
		l.part = l.part[:0]
	}
	l.part = append(l.part, b...)
}

// end passes on a last line without a line end.
func (l *lines) end() {
	if len(l.part) > 0 {
		l.take(bytes.TrimSuffix(l.part, []byte("\r")), false)
		l.part = nil
	}
}

// finisher is a stream that knows when the provider has said its last word, so
// that a program which does not end after it can be told from one that works.
type finisher interface{ Final() bool }

// failer is a stream that knows whether the provider is in trouble.
type failer interface{ Failing() bool }

// reading is the worker's standard output on its way through the provider's
// stream. Its goroutine owns the stream; the others read the atomics.
type reading struct {
	stream  providers.Stream
	busy    atomic.Bool
	final   atomic.Bool
	failing atomic.Bool
	outcome providers.Outcome
}

// line returns what takes the lines; nudge is called when a deadline may have
// moved.
func (r *reading) line(show func(providers.Shown), nudge func()) func([]byte, bool) {
	finish, _ := r.stream.(finisher)
	fail, _ := r.stream.(failer)
	return func(line []byte, more bool) {
		for _, shown := range r.stream.Line(line, more) {
			show(shown)
		}
		busy := r.stream.Busy()
		changed := r.busy.Swap(busy) != busy
		if finish != nil {
			final := finish.Final()
			changed = r.final.Swap(final) != final || changed
		}
		if fail != nil {
			r.failing.Store(fail.Failing())
		}
		if changed {
			nudge()
		}
	}
}

// tail keeps the last bytes of an output.
type tail struct {
	max int
	b   []byte
}

func (t *tail) add(b []byte) {
	if len(b) >= t.max {
		t.b = append(t.b[:0], b[len(b)-t.max:]...)
		return
	}
	if over := len(t.b) + len(b) - t.max; over > 0 {
		t.b = t.b[:copy(t.b, t.b[over:])]
	}
	t.b = append(t.b, b...)
}
