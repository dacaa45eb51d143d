package providers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// maxRecord is the longest JSON record that is read, in bytes: a final text of
// MaxFinal with room for its escapes and the rest of its record.
const maxRecord = MaxFinal + MaxFinal/2

const (
	maxOpen  = 1024 // tool calls that are followed at once
	maxNotes = 20
	maxLines = 40 // lines that one message shows
)

// records reads the records of one provider's stream.
type records interface {
	// last tells whether a record of this kind is the provider's last word
	// (true) or a sign that it goes on (false); ok is false where it is neither.
	last(kind string) (final, ok bool)
	// record takes one JSON object; kind is its "type".
	record(kind string, raw []byte) []Shown
	busy() bool
	// failing tells whether an error is the last that is known of the work.
	failing() bool
	end() Outcome
}

// recordStream is a stream of one JSON object a line. It puts long lines
// together, up to maxRecord, and shows what is no record as it is.
type recordStream struct {
	records records
	buf     []byte
	state   lineState
	final   bool  // the provider has said its last word
	skipped int64 // bytes of the present line that were not kept
	lost    int   // records that were too long
	broken  int   // lines that began like a record and were none
}

type lineState string

const (
	lineNew    lineState = ""
	lineRecord lineState = "record" // may be a record: kept
	linePlain  lineState = "plain"  // shown already: the rest is dropped
	lineLost   lineState = "lost"   // longer than maxRecord: dropped
)

func (s *recordStream) Line(line []byte, more bool) []Shown {
	if s.state == lineNew && !more {
		return s.whole(line)
	}
	var shown []Shown
	switch s.state {
	case lineNew:
		if !looksLikeRecord(line) {
			shown = append(shown, plainLine(line, more))
			s.state = linePlain
			break
		}
		s.state = lineRecord
		s.buf = append(s.buf, line...)
	case lineRecord:
		if len(s.buf)+len(line) > maxRecord {
			s.state = lineLost
			s.skipped = int64(len(s.buf)) + int64(len(line))
			s.buf = nil
			break
		}
		s.buf = append(s.buf, line...)
	case lineLost:
		s.skipped += int64(len(line))
	}
	if more {
		return shown
	}
	switch s.state {
	case lineRecord:
		shown = append(shown, s.whole(s.buf)...)
	case lineLost:
		s.lost++
		shown = append(shown, Shown{ShownError, fmt.Sprintf("[a record of %d bytes is too long to read; it is in the log]", s.skipped)})
	}
	s.buf, s.state, s.skipped = nil, lineNew, 0
	return shown
}

func (s *recordStream) whole(line []byte) []Shown {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	if looksLikeRecord(line) {
		var head struct {
			Type json.RawMessage `json:"type"`
		}
		if err := json.Unmarshal(line, &head); err == nil {
			var kind string
			if json.Unmarshal(head.Type, &kind) == nil && kind != "" {
				if final, ok := s.records.last(kind); ok {
					s.final = final
				}
				return s.records.record(kind, line)
			}
		} else {
			s.broken++
		}
	}
	return []Shown{plainLine(line, false)}
}

func looksLikeRecord(line []byte) bool {
	line = bytes.TrimLeft(line, " \t\r")
	return len(line) > 0 && line[0] == '{'
}

func (s *recordStream) Busy() bool { return s.records.busy() }

// Final reports whether the provider's final record was the last that told of
// work: the program has nothing left to do but to end.
func (s *recordStream) Final() bool { return s.final }

// Failing reports whether the last that the provider told of its work is an
// error, which it may be trying to overcome.
func (s *recordStream) Failing() bool { return s.records.failing() }

func (s *recordStream) End() Outcome {
	out := s.records.end()
	if s.lost > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d records were longer than %d bytes and were not read", s.lost, maxRecord))
	}
	if s.broken > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%d lines began like a record and were not JSON", s.broken))
	}
	return out
}

// decode reads what is wanted of a record. A member of an unexpected type
// leaves its field empty and does not spoil the others.
func decode(raw []byte, into any) { _ = json.Unmarshal(raw, into) }

// text is a string, or whatever else stood there as its JSON text: providers
// change the form of such members between versions.
type text string

func (t *text) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*t = text(s)
		return nil
	}
	if string(b) != "null" {
		*t = text(b)
	}
	return nil
}

// count is a number of tokens; anything that is not one is 0.
type count int64

func (c *count) UnmarshalJSON(b []byte) error {
	var f float64
	if json.Unmarshal(b, &f) == nil && f > 0 && f < 1e15 {
		*c = count(f)
	}
	return nil
}

// calls are the tool calls that are open, by the provider's id.
type calls map[string]string

func (c calls) open(id, name string) {
	if len(c) < maxOpen && id != "" && len(id) < 512 {
		c[id] = clip(Clean(name), 80)
	}
}

// close forgets a call and returns the name of its tool.
func (c calls) close(id string) string {
	name := c[id]
	delete(c, id)
	return name
}

// notes are for people: harmless, each once, and not too many.
type notes []string

func (n *notes) add(format string, args ...any) {
	note := clip(Clean(fmt.Sprintf(format, args...)), 300)
	for _, old := range *n {
		if old == note {
			return
		}
	}
	if len(*n) < maxNotes {
		*n = append(*n, note)
	}
}

// said shows a message's text, line by line.
func said(kind ShownKind, s string) []Shown {
	var shown []Shown
	var fold folding
	for len(s) > 0 {
		line, rest, _ := strings.Cut(s, "\n")
		s = rest
		if strings.TrimSpace(line) == "" {
			continue
		}
		if asIs, instead := fold.take(line); !asIs {
			shown = append(shown, instead...)
			continue
		}
		if len(shown) == maxLines {
			shown = append(shown, Shown{ShownInfo, fmt.Sprintf("[%d more lines are in the log]", 1+strings.Count(s, "\n"))})
			break
		}
		out := plainLine([]byte(line), false)
		out.Kind = kind
		shown = append(shown, out)
	}
	return shown
}

// failed shows what made the attempt fail; its words only where they were not
// shown before, with the error that was seen last.
func failed(f, before *Fatal) Shown {
	if before != nil && before.Detail == f.Detail {
		return Shown{ShownError, "failed: " + string(f.Reason)}
	}
	return Shown{ShownError, fmt.Sprintf("failed: %s (%s)", f.Reason, f.Detail)}
}

// called shows the start of a tool call; what is its most telling argument.
func called(name, what string) Shown {
	s := "> " + clip(Clean(name), 80)
	if what != "" {
		s += ": " + clip(oneLine(what), 160)
	}
	return Shown{ShownTool, s}
}

// returned shows the end of a tool call.
func returned(name string, failed bool, what string) Shown {
	if name == "" {
		name = "tool"
	}
	s := "< " + clip(Clean(name), 80)
	if failed {
		s += " failed"
	}
	if what != "" {
		s += ": " + clip(oneLine(what), 120)
	}
	return Shown{ShownTool, s}
}

// oneLine makes text harmless and puts it on one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(Clean(clipBytes(s, 8192))), " ")
}

// gist is what a tool gave, short: its one line, or how many it has.
func gist(s string) string {
	lines, only := 0, ""
	for line := range strings.Lines(s) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if lines++; lines == 1 {
			only = line
		}
	}
	switch lines {
	case 0:
		return "done"
	case 1:
		return oneLine(unnumbered(only))
	}
	return fmt.Sprintf("%d lines", lines)
}

// unnumbered takes the number off that a reading tool puts before a line.
func unnumbered(line string) string {
	rest := strings.TrimLeft(strings.TrimLeft(line, " "), "0123456789")
	for _, mark := range []string{"\t", "→"} {
		if text, ok := strings.CutPrefix(rest, mark); ok && len(rest) < len(line) {
			return text
		}
	}
	return line
}

// firstLine is the first line of s that says something.
func firstLine(s string) string {
	for len(s) > 0 {
		line, rest, _ := strings.Cut(s, "\n")
		if line = oneLine(line); line != "" {
			return line
		}
		s = rest
	}
	return ""
}

// telling are argument names in the order in which they tell most about a call.
var telling = []string{"command", "cmd", "file_path", "path", "absolute_path", "notebook_path", "dir_path", "pattern", "query", "url", "description", "prompt"}

// argument picks the most telling argument of a tool call.
func argument(input json.RawMessage) string {
	var args map[string]json.RawMessage
	if json.Unmarshal(input, &args) != nil {
		return ""
	}
	for _, name := range telling {
		var s string
		if json.Unmarshal(args[name], &s) == nil && s != "" {
			return s
		}
	}
	return ""
}

// usageLine shows the tokens so far.
func usageLine(u plan.Usage) Shown {
	s := fmt.Sprintf("tokens: %d in", u.InputTokens)
	if u.CachedTokens > 0 {
		s += fmt.Sprintf(" (%d cached)", u.CachedTokens)
	}
	s += fmt.Sprintf(", %d out", u.OutputTokens)
	if u.ReasoningTokens > 0 {
		s += fmt.Sprintf(", %d reasoning", u.ReasoningTokens)
	}
	if u.USD != nil {
		s += fmt.Sprintf(", %.4f USD", *u.USD)
	}
	return Shown{ShownUsage, s}
}
