package providers

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// sourceCodexTurn is the usage of codex's last turn.completed, which counts
// the whole thread. Its input_tokens hold the cached ones, its output_tokens
// the reasoning ones; plan.Usage counts reasoning apart, so it is taken out of
// the output. There is no cost.
const sourceCodexTurn = "codex-turn"

// codex reads `codex exec --json`.
type codex struct {
	calls   calls
	notes   notes
	final   finalText
	said    bool
	began   bool
	ended   bool
	usage   *plan.Usage
	pending *Fatal // an error record that no completed turn followed
	fatal   *Fatal
}

func newCodex() *codex { return &codex{calls: calls{}} }

func (c *codex) busy() bool { return len(c.calls) > 0 }

func (c *codex) failing() bool { return c.pending != nil || c.fatal != nil }

func (c *codex) last(kind string) (final, ok bool) {
	switch kind {
	case "turn.completed", "turn.failed":
		return true, true
	case "turn.started", "item.started":
		return false, true
	}
	return false, false
}

func (c *codex) record(kind string, raw []byte) []Shown {
	switch kind {
	case "thread.started":
		var r struct {
			Thread text `json:"thread_id"`
		}
		decode(raw, &r)
		c.began = true
		return []Shown{{ShownInfo, "codex thread " + clip(oneLine(string(r.Thread)), 60)}}
	case "item.started", "item.updated", "item.completed":
		return c.item(kind, raw)
	case "turn.completed":
		return c.completed(raw)
	case "turn.failed":
		var r struct {
			Error codexError `json:"error"`
		}
		decode(raw, &r)
		c.ended = true
		clear(c.calls)
		c.fatal = fatal(0, string(r.Error.Message))
		if r.Error.Message == "" && c.pending != nil {
			c.fatal = c.pending
		}
		return []Shown{failed(c.fatal, c.pending)}
	case "error":
		// Also the form in which it says that it connects again: what follows
		// decides whether it was fatal.
		var e codexError
		decode(raw, &e)
		c.pending = fatal(0, string(e.Message))
		return []Shown{{ShownError, c.pending.Detail}}
	}
	return nil
}

type codexError struct {
	Message text `json:"message"`
}

func (c *codex) item(kind string, raw []byte) []Shown {
	var r struct {
		Item struct {
			ID       string `json:"id"`
			Type     string `json:"type"`
			Text     text   `json:"text"`
			Message  text   `json:"message"`
			Command  text   `json:"command"`
			Output   text   `json:"aggregated_output"`
			ExitCode *int   `json:"exit_code"`
			Status   text   `json:"status"`
			Server   text   `json:"server"`
			Tool     text   `json:"tool"`
			Query    text   `json:"query"`
			Changes  []struct {
				Path text `json:"path"`
				Kind text `json:"kind"`
			} `json:"changes"`
		} `json:"item"`
	}
	decode(raw, &r)
	i := r.Item
	switch i.Type {
	case "agent_message", "assistant_message":
		if kind != "item.completed" {
			return nil
		}
		c.said, c.pending = true, nil
		c.final.reset()
		c.final.add(string(i.Text))
		return said(ShownText, string(i.Text))
	case "error":
		// A warning: the turn goes on after it.
		c.notes.add("warning: %s", oneLine(string(i.Message)))
		return []Shown{{ShownInfo, "warning: " + clip(oneLine(string(i.Message)), 300)}}
	}

	name, what := i.Type, ""
	switch i.Type {
	case "command_execution":
		name, what = "shell", string(i.Command)
	case "file_change":
		name = "edit"
		var paths []string
		for _, ch := range i.Changes[:min(len(i.Changes), 20)] {
			paths = append(paths, string(ch.Path))
		}
		what = strings.Join(paths, ", ")
	case "mcp_tool_call", "collab_tool_call":
		name = strings.TrimPrefix(string(i.Server)+"."+string(i.Tool), ".")
	case "web_search":
		what = string(i.Query)
	default: // reasoning, todo_list: no call, nothing to wait for
		return nil
	}
	c.pending = nil // it went on
	switch kind {
	case "item.started":
		c.calls.open(i.ID, name)
		return []Shown{called(name, what)}
	case "item.completed":
		c.calls.close(i.ID)
		failed := i.Status == "failed" || i.Status == "declined" || i.ExitCode != nil && *i.ExitCode != 0
		gave := gist(string(i.Output))
		switch {
		case i.ExitCode != nil && *i.ExitCode != 0:
			gave = strings.TrimSpace(fmt.Sprintf("exit %d %s", *i.ExitCode, firstLine(string(i.Output))))
		case failed:
			gave = firstLine(string(i.Output))
		}
		return []Shown{returned(name, failed, gave)}
	}
	return nil
}

func (c *codex) completed(raw []byte) []Shown {
	var r struct {
		Usage json.RawMessage `json:"usage"`
	}
	decode(raw, &r)
	c.ended, c.pending, c.fatal = true, nil, nil
	clear(c.calls)
	usage, ok := readTokens(r.Usage)
	if !ok {
		return nil
	}
	in, cached := usage.must("input_tokens"), usage.may("cached_input_tokens")
	out, reasoning := usage.must("output_tokens"), usage.may("reasoning_output_tokens")
	// It counts the whole thread: an earlier one is no use where it is odd.
	c.usage = nil
	if !usage.known {
		c.notes.add(oddUsage)
		return nil
	}
	c.usage = &plan.Usage{
		Source:          sourceCodexTurn,
		InputTokens:     int64(in),
		CachedTokens:    int64(cached),
		OutputTokens:    int64(max(0, out-reasoning)),
		ReasoningTokens: int64(reasoning),
	}
	return []Shown{usageLine(*c.usage)}
}

func (c *codex) end() Outcome {
	out := Outcome{Usage: c.usage, Fatal: c.fatal}
	if out.Fatal == nil {
		out.Fatal = c.pending
	}
	// Only a completed turn makes its last message the final one.
	if c.said && c.ended && out.Fatal == nil {
		out.FinalText, out.HasFinal, out.Truncated = c.final.String(), true, c.final.truncated
	}
	if c.began && !c.ended {
		c.notes.add("the stream ended before its turn was completed")
	}
	if out.HasFinal && strings.TrimSpace(out.FinalText) == "" {
		c.notes.add("the final message is empty")
	}
	out.Notes = c.notes
	return out
}
