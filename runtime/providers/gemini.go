package providers

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// sourceGeminiResult is the usage of gemini's result record. Its input_tokens
// hold the cached ones; thinking is not in its output_tokens, and stands only
// in the total: what the total has beyond input and output is counted as
// reasoning. There is no cost.
const sourceGeminiResult = "gemini-result"

// gemini reads `gemini --output-format stream-json`.
type gemini struct {
	calls   calls
	notes   notes
	final   finalText
	line    strings.Builder // what was said since the last line break
	said    bool
	turned  bool // a tool was called since: what is said next is another message
	shown   int  // lines of the present message
	fold    folding
	began   bool
	ended   bool
	usage   *plan.Usage
	pending *Fatal
	fatal   *Fatal
}

func newGemini() *gemini { return &gemini{calls: calls{}} }

func (g *gemini) busy() bool { return len(g.calls) > 0 }

func (g *gemini) failing() bool { return g.pending != nil || g.fatal != nil }

func (g *gemini) last(kind string) (final, ok bool) {
	switch kind {
	case "result":
		return true, true
	case "message", "tool_use":
		return false, true
	}
	return false, false
}

func (g *gemini) record(kind string, raw []byte) []Shown {
	if kind == "message" {
		return g.message(raw)
	}
	shown := g.flush()
	switch kind {
	case "init":
		var r struct {
			Session text `json:"session_id"`
			Model   text `json:"model"`
		}
		decode(raw, &r)
		g.began = true
		shown = append(shown, Shown{ShownInfo, fmt.Sprintf("gemini session %s, model %s",
			clipBytes(oneLine(string(r.Session)), 8), clip(oneLine(string(r.Model)), 60))})
	case "tool_use":
		var r struct {
			Name  string          `json:"tool_name"`
			ID    string          `json:"tool_id"`
			Input json.RawMessage `json:"parameters"`
		}
		decode(raw, &r)
		g.calls.open(r.ID, r.Name)
		g.turned = true
		shown = append(shown, called(r.Name, argument(r.Input)))
	case "tool_result":
		var r struct {
			ID     string      `json:"tool_id"`
			Status string      `json:"status"`
			Output text        `json:"output"`
			Error  geminiError `json:"error"`
		}
		decode(raw, &r)
		what := gist(string(r.Output))
		switch {
		case r.Error.Message != "":
			what = firstLine(string(r.Error.Message))
		case r.Status == "error":
			what = firstLine(string(r.Output))
		}
		shown = append(shown, returned(g.calls.close(r.ID), r.Status == "error", what))
	case "error":
		var r struct {
			Severity string `json:"severity"`
			Message  text   `json:"message"`
		}
		decode(raw, &r)
		if r.Severity == "warning" {
			g.notes.add("warning: %s", oneLine(string(r.Message)))
			shown = append(shown, Shown{ShownInfo, "warning: " + clip(oneLine(string(r.Message)), 300)})
			break
		}
		g.pending = fatal(0, string(r.Message))
		shown = append(shown, Shown{ShownError, g.pending.Detail})
	case "result":
		shown = append(shown, g.result(raw)...)
	}
	return shown
}

type geminiError struct {
	Type    text `json:"type"`
	Message text `json:"message"`
}

// geminiUsage reads the stats of a result record; nil where there are none, or
// in a form that is not known.
func geminiUsage(raw json.RawMessage) *plan.Usage {
	r, ok := readTokens(raw)
	if !ok {
		return nil
	}
	in, cached, out, total := r.must("input_tokens"), r.may("cached"), r.must("output_tokens"), r.may("total_tokens")
	if !r.known {
		return nil
	}
	return &plan.Usage{
		Source:          sourceGeminiResult,
		InputTokens:     int64(in),
		CachedTokens:    int64(cached),
		OutputTokens:    int64(out),
		ReasoningTokens: int64(max(0, total-in-out)),
	}
}

// fatal takes the frame off that the CLI puts around an API's words.
func (e geminiError) fatal() *Fatal {
	words := string(e.Message)
	if inner, ok := strings.CutPrefix(words, "[API Error: "); ok {
		words = strings.Replace(inner, "]", "", 1)
		if strings.HasPrefix(inner, "{") {
			words = inner // JSON has brackets of its own
		}
	}
	if e.Type != "" && e.Type != "unknown" {
		words += " (" + string(e.Type) + ")"
	}
	return fatal(0, words)
}

// message takes a piece of what the model says. Pieces are no lines: the
// screen gets a line when it is whole.
func (g *gemini) message(raw []byte) []Shown {
	var r struct {
		Role    string `json:"role"`
		Content text   `json:"content"`
		Delta   bool   `json:"delta"`
	}
	decode(raw, &r)
	if r.Role != "assistant" {
		return nil // our own prompt
	}
	if g.turned && strings.TrimSpace(string(r.Content)) != "" {
		g.final.reset()
		g.turned = false
	}
	g.said = true
	g.final.add(string(r.Content))
	if !r.Delta {
		return append(g.flush(), said(ShownText, string(r.Content))...)
	}
	rest := string(r.Content)
	var shown []Shown
	for {
		line, after, found := strings.Cut(rest, "\n")
		if room := 4*maxShown + maxEscape - g.line.Len(); room > 0 {
			g.line.WriteString(clipBytes(line, room))
		}
		if !found {
			return shown
		}
		shown = append(shown, g.flushLine()...)
		rest = after
	}
}

// flush ends the present message.
func (g *gemini) flush() []Shown {
	shown := g.flushLine()
	g.shown, g.fold = 0, folding{}
	return shown
}

func (g *gemini) flushLine() []Shown {
	line := g.line.String()
	g.line.Reset()
	if strings.TrimSpace(line) == "" {
		return nil
	}
	if asIs, instead := g.fold.take(line); !asIs {
		return instead
	}
	g.shown++
	switch {
	case g.shown < maxLines:
		return []Shown{plainLine([]byte(line), false)}
	case g.shown == maxLines:
		return []Shown{{ShownInfo, "[the rest of this message is in the log]"}}
	}
	return nil
}

func (g *gemini) result(raw []byte) []Shown {
	var r struct {
		Status string          `json:"status"`
		Error  geminiError     `json:"error"`
		Stats  json.RawMessage `json:"stats"`
	}
	decode(raw, &r)
	g.ended = true
	clear(g.calls)
	if !absent(r.Stats) {
		if g.usage = geminiUsage(r.Stats); g.usage == nil {
			g.notes.add(oddUsage)
		}
	}
	var shown []Shown
	switch {
	case r.Status == "success":
		g.pending, g.fatal = nil, nil
	case r.Error.Message == "" && g.pending != nil:
		g.fatal = g.pending
		shown = append(shown, failed(g.fatal, g.pending))
	default:
		g.fatal = r.Error.fatal()
		shown = append(shown, failed(g.fatal, g.pending))
	}
	if g.usage != nil && g.usage.Total() > 0 {
		shown = append(shown, usageLine(*g.usage))
	}
	return shown
}

func (g *gemini) end() Outcome {
	out := Outcome{Usage: g.usage, Fatal: g.fatal}
	if out.Fatal == nil {
		out.Fatal = g.pending
	}
	// What was said before the stream broke off is no final text.
	if g.said && g.ended && out.Fatal == nil {
		out.FinalText, out.HasFinal, out.Truncated = g.final.String(), true, g.final.truncated
	}
	if g.began && !g.ended {
		g.notes.add("the stream ended without its result record")
	}
	if out.HasFinal && strings.TrimSpace(out.FinalText) == "" {
		g.notes.add("the final message is empty")
	}
	out.Notes = g.notes
	return out
}
