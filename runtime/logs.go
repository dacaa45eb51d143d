package runtime

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/okstra/okstra/backends"
	"github.com/okstra/okstra/runtime/providers"
	"github.com/okstra/okstra/runtime/record"
	"github.com/okstra/okstra/runtime/sidecar"
)

// followEvery is how often a followed log is looked at.
const followEvery = 200 * time.Millisecond

// Logs writes the log of a worker's latest attempt. With Follow it goes on
// until the attempt has ended, or ctx does.
func Logs(ctx context.Context, _ Env, sel Selector, name string, o LogOptions, w io.Writer) error {
	run, st, err := find(sel)
	if err != nil {
		return err
	}
	ds, err := recordedWorker(run, st, name)
	if err != nil {
		return err
	}
	d := ds[len(ds)-1]
	path := companions(run, d).Log()
	if o.Stderr {
		path = companions(run, d).ErrLog()
	}
	out := lineWriter{w: bufio.NewWriter(w), raw: o.Raw}
	f, err := openLog(ctx, path, o.Follow, func() bool { return over(absolute(run.Root, d.StatusPath)) })
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has no log: %s", d.WorkerKey, notYet(d))
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if o.Tail > 0 {
		if err := seekTail(f, o.Tail); err != nil {
			return err
		}
	}
	for {
		// Whether it is over is asked before reading: what was written until
		// then is read afterwards, whole.
		ended := !o.Follow || over(absolute(run.Root, d.StatusPath))
		if err := out.copy(f); err != nil {
			return err
		}
		if ended {
			return out.flush()
		}
		if err := pause(ctx, followEvery); err != nil {
			return out.flush()
		}
	}
}

func notYet(d *record.Dispatch) string {
	if d.StartedAt == nil {
		return "it has not run (" + string(d.Status) + ")"
	}
	return "the file is gone"
}

// openLog opens a log; a follower waits for it to appear.
func openLog(ctx context.Context, path string, wait bool, over func() bool) (*os.File, error) {
	for {
		ended := over()
		f, err := os.Open(path)
		if err == nil || !wait || ended || !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		if pause(ctx, followEvery) != nil {
			return nil, err
		}
	}
}

// over reports whether an attempt has ended.
func over(statusPath string) bool {
	j, err := sidecar.Judge(statusPath, lockOf(statusPath))
	return err != nil || j.Verdict != sidecar.Live
}

// pause is the one way to wait here: it ends early with ctx.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// seekTail places f before its last n lines.
func seekTail(f *os.File, n int) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	const chunk = 64 << 10
	buf := make([]byte, chunk)
	seen := -1 // the line end that closes the last line does not count
	for off := size; off > 0; {
		length := min(off, chunk)
		off -= length
		if _, err := f.ReadAt(buf[:length], off); err != nil {
			return err
		}
		for i := length - 1; i >= 0; i-- {
			if buf[i] != '\n' {
				if seen < 0 && off+i == size-1 {
					seen = 0 // the last line is not closed
				}
				continue
			}
			if seen++; seen == n {
				_, err := f.Seek(off+i+1, io.SeekStart)
				return err
			}
		}
	}
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// lineWriter passes whole lines on, made harmless for a terminal unless raw.
type lineWriter struct {
	w    *bufio.Writer
	raw  bool
	rest []byte
}

func (l *lineWriter) copy(r io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		if werr := l.write(buf[:n]); werr != nil {
			return werr
		}
		if err == io.EOF {
			return l.w.Flush()
		}
		if err != nil {
			return err
		}
	}
}

func (l *lineWriter) write(b []byte) error {
	if l.raw {
		_, err := l.w.Write(b)
		return err
	}
	l.rest = append(l.rest, b...)
	for {
		i := indexLine(l.rest)
		if i < 0 {
			return nil
		}
		if err := l.line(l.rest[:i]); err != nil {
			return err
		}
		l.rest = l.rest[i:]
		if len(l.rest) > 0 && l.rest[0] == '\n' {
			l.rest = l.rest[1:]
		}
	}
}

// indexLine finds where the first line ends; a very long one is cut.
func indexLine(b []byte) int {
	for i, c := range b {
		if c == '\n' || i == providers.MaxLine {
			return i
		}
	}
	return -1
}

func (l *lineWriter) line(b []byte) error {
	_, err := l.w.WriteString(providers.Clean(string(b)) + "\n")
	return err
}

func (l *lineWriter) flush() error {
	if len(l.rest) > 0 {
		if err := l.line(l.rest); err != nil {
			return err
		}
		l.rest = nil
	}
	return l.w.Flush()
}

// AttachCommand returns the argv that shows a worker's pane, or the panes of a
// run where no worker is named.
func AttachCommand(ctx context.Context, env Env, sel Selector, name string) ([]string, error) {
	_, st, err := find(sel)
	if err != nil {
		return nil, err
	}
	b, ok := env.Backends[st.Backend].(backends.Attacher)
	if !ok {
		return nil, fmt.Errorf("backend %s shows no panes; use okstra logs --follow, or okstra status --watch", st.Backend)
	}
	candidates := st.WorkerDispatches
	if name != "" {
		if candidates, err = worker(st, name); err != nil {
			return nil, err
		}
	}
	for i := len(candidates) - 1; i >= 0; i-- {
		if d := candidates[i]; d.Handle != nil && d.Handle.Pane != "" && !d.Closed {
			return b.AttachCommand(ctx, *d.Handle)
		}
	}
	return nil, errors.New("none of its panes is open")
}
