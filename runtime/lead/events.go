package lead

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/gofrs/flock"

	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/durable"
)

// Event is one line of the event log.
type Event struct {
	TS time.Time `json:"ts"`
	// Seq is the position in the log, from 1. Append assigns it.
	Seq int64 `json:"seq"`
	// Serial is that of the team-state that the event tells of; 0 for the
	// lead's own, which tell of no state.
	Serial        int64          `json:"serial"`
	Type          EventType      `json:"type"`
	Phase         Phase          `json:"phase,omitempty"`
	Round         string         `json:"round,omitempty"`
	InvocationRef string         `json:"invocationRef,omitempty"`
	Message       string         `json:"message,omitempty"` // one line
	Data          map[string]any `json:"data,omitempty"`
}

// Keys of Event.Data that more than one package reads.
const (
	DataStatus = "status" // of worker-settled: the terminal status
	DataReason = "reason" // of worker-settled: its reason, absent where none
	DataLabel  = "label"  // executionLabel
	DataResult = "result" // of round-ended: met or unmet
)

// Text returns a string member of Data, empty where there is none.
func (e Event) Text(key string) string {
	s, _ := e.Data[key].(string)
	return s
}

// Check returns what is wrong with an event, nil where nothing is.
func (e Event) Check() error {
	kind, ok := KindOf(e.Type)
	switch {
	case !ok:
		return fmt.Errorf("no event type %q; `okstra event --help` lists them", e.Type)
	case e.Phase != "" && !ValidPhase(e.Phase):
		return fmt.Errorf("no phase %q; `okstra event --help` lists them", e.Phase)
	case kind.Worker && e.InvocationRef == "":
		return fmt.Errorf("an event of type %s names a worker's invocation", e.Type)
	}
	return nil
}

// lockWait bounds how long Append waits for another writer, which holds the
// lock for the time of a few writes.
const lockWait = 10 * time.Second

// Append appends events to the log of a run under its short lock, one write
// each, and assigns their seq. A torn last line, left by a writer that was
// killed or a disk that was full, is completed where it is whole but for its
// line end, and cut otherwise. Zero times are filled in by the caller, never here.
//
// The engine's events can be made again from team-state; the lead's own
// cannot, so those are synced.
func Append(run paths.Run, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	if err := appendEvents(run, events); err != nil {
		return fmt.Errorf("append to events of %s: %w", run.Ref(), err)
	}
	return nil
}

func appendEvents(run paths.Run, events []Event) (err error) {
	for _, e := range events {
		if err := e.Check(); err != nil {
			return err
		}
	}
	if err := durable.MkdirAll(filepath.Dir(run.Events())); err != nil {
		return err
	}
	lock := flock.New(run.EventsLock(), flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 2*time.Millisecond); err != nil {
		return fmt.Errorf("lock %s: %w", run.EventsLock(), err)
	}
	defer func() { err = errors.Join(err, lock.Close()) }()

	f, err := os.OpenFile(run.Events(), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	seq, err := repair(f)
	if err != nil {
		return err
	}
	sync := false
	for _, e := range events {
		seq++
		e.Seq = seq
		e.TS = e.TS.UTC()
		e.Message = OneLine(e.Message)
		sync = sync || e.Serial == 0
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// repair ends a torn last line and returns the seq of the last event.
func repair(f *os.File) (int64, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return 0, err
	}
	tail, start, err := lastLines(f, size)
	if err != nil {
		return 0, err
	}
	if !bytes.HasSuffix(tail, []byte{'\n'}) {
		cut := bytes.LastIndexByte(tail, '\n') + 1
		if _, ok := parseLine(tail[cut:]); ok {
			if _, err := f.Write([]byte{'\n'}); err != nil {
				return 0, err
			}
			tail = append(tail, '\n')
		} else {
			if err := f.Truncate(start + int64(cut)); err != nil {
				return 0, err
			}
			tail = tail[:cut]
		}
	}
	// The last line that is an event: a foreign line may stand after it.
	lines := bytes.Split(bytes.TrimSuffix(tail, []byte{'\n'}), []byte{'\n'})
	for i := len(lines) - 1; i >= 0; i-- {
		if e, ok := parseLine(lines[i]); ok {
			return e.Seq, nil
		}
	}
	if start == 0 {
		return 0, nil
	}
	// Nothing but foreign text in the tail: take the whole log.
	all, err := io.ReadAll(io.NewSectionReader(f, 0, start))
	if err != nil {
		return 0, err
	}
	var last int64
	for _, line := range bytes.Split(all, []byte{'\n'}) {
		if e, ok := parseLine(line); ok {
			last = max(last, e.Seq)
		}
	}
	return last, nil
}

// lastLines reads the end of a log: at least the whole last line and its
// predecessor, unless the log is shorter. start is the offset of what it returns.
func lastLines(f *os.File, size int64) (tail []byte, start int64, err error) {
	for window := int64(8 << 10); ; window *= 4 {
		start = max(0, size-window)
		tail = make([]byte, size-start)
		if _, err := f.ReadAt(tail, start); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, err
		}
		if start == 0 {
			return tail, 0, nil
		}
		if first := bytes.IndexByte(tail, '\n'); first >= 0 && bytes.Count(tail[first+1:], []byte{'\n'}) >= 1 {
			return tail[first+1:], start + int64(first) + 1, nil
		}
	}
}

func parseLine(line []byte) (Event, bool) {
	var e Event
	if err := json.Unmarshal(line, &e); err != nil || e.Type == "" || e.Seq < 1 {
		return Event{}, false
	}
	return e, true
}

// Read returns the events of a log in order, tolerantly: a torn last line and
// lines that hold no event are left out, and so are repeats. A log that is not
// there is empty.
//
// A repeat tells the same of the same state: the engine's events (Serial above
// 0) with equal serial, type, round and invocationRef, and equal message where
// the type is note. The lead's own are never repeats of each other.
func Read(path string) ([]Event, error) {
	events, _, err := Scan(path)
	return events, err
}

// Scan is Read with the defects that it passed over, a line each.
func Scan(path string) (events []Event, defects []string, err error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read events: %w", err)
	}
	if !bytes.HasSuffix(data, []byte{'\n'}) && len(data) > 0 {
		cut := bytes.LastIndexByte(data, '\n') + 1
		if _, ok := parseLine(data[cut:]); !ok {
			defects = append(defects, "the last line is torn")
			data = data[:cut]
		}
	}
	seen := map[repeatKey]bool{}
	var last int64
	for i, line := range bytes.Split(bytes.TrimSuffix(data, []byte{'\n'}), []byte{'\n'}) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		e, ok := parseLine(line)
		if !ok {
			defects = append(defects, fmt.Sprintf("line %d is not an event", i+1))
			continue
		}
		if e.Seq != last+1 {
			defects = append(defects, fmt.Sprintf("line %d has seq %d where %d follows", i+1, e.Seq, last+1))
		}
		last = e.Seq
		if e.Serial > 0 {
			key := e.repeatKey()
			if seen[key] {
				continue
			}
			seen[key] = true
		}
		events = append(events, e)
	}
	return events, defects, nil
}

type repeatKey struct {
	serial                       int64
	kind                         EventType
	round, invocationRef, detail string
}

func (e Event) repeatKey() repeatKey {
	k := repeatKey{serial: e.Serial, kind: e.Type, round: e.Round, invocationRef: e.InvocationRef}
	if e.Type == Note {
		k.detail = e.Message
	}
	return k
}

// Missing returns those of want that have no event of the same type, round and
// invocationRef in have: what a crash kept back.
func Missing(have, want []Event) []Event {
	type key struct {
		kind                 EventType
		round, invocationRef string
	}
	seen := map[key]bool{}
	for _, e := range have {
		seen[key{e.Type, e.Round, e.InvocationRef}] = true
	}
	var out []Event
	for _, e := range want {
		if !seen[key{e.Type, e.Round, e.InvocationRef}] {
			out = append(out, e)
		}
	}
	return out
}

// ProgressLine is the line that stdout shows for an event:
// "PROGRESS: <phase-id> <verb phrase>".
func ProgressLine(e Event) string {
	phase := e.Phase
	if phase == "" {
		phase = PhaseOf(e.Type, "")
	}
	phrase := OneLine(e.Message)
	if phrase == "" {
		kind, _ := KindOf(e.Type)
		phrase = kind.verb
	}
	return fmt.Sprintf("PROGRESS: %s %s", phase, phrase)
}

// ActivityLine is the line that follows ProgressLine for every event with an
// invocationRef: "ACTIVITY: <invocationRef> <type>[ <status>[/<reason>]]". It is
// empty for the others.
func ActivityLine(e Event) string {
	if e.InvocationRef == "" {
		return ""
	}
	line := "ACTIVITY: " + OneLine(e.InvocationRef) + " " + string(e.Type)
	if status := e.Text(DataStatus); status != "" {
		line += " " + status
		if reason := e.Text(DataReason); reason != "" {
			line += "/" + reason
		}
	}
	return line
}

// OneLine makes text fit for one line of a log or a terminal: control
// characters and line ends become single spaces.
func OneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.Join(strings.Fields(s), " ")
}
