package providers

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/okstra/okstra/lang/plan"
)

// Sources of claude's usage. The API counts cached and newly cached input
// beside input_tokens; plan.Usage counts both in InputTokens, and what was
// read from the cache in CachedTokens too. Thinking is a part of the output.
const (
	// sourceClaudeResult is the result record: its modelUsage, which holds
	// helper models and subagents too, else its usage.
	sourceClaudeResult = "claude-result"
	// sourceClaudeMessages is the sum over messages, of a stream that ended
	// before its result record. Output is then too low.
	sourceClaudeMessages = "claude-messages"
)

// claude reads `claude -p --output-format stream-json --verbose`.
type claude struct {
	calls  calls
	notes  notes
	done   claudeUsage // of the messages before the present one
	msg    claudeUsage // of the present one
	msgID  string
	seen   bool // any usage
	began  bool
	ended  bool
	out    Outcome
	trying *Fatal // the last error that the CLI retried
	failed *Fatal // the last error that a message carried
}

type claudeUsage struct {
	Input   count `json:"input_tokens"`
	Created count `json:"cache_creation_input_tokens"`
	Read    count `json:"cache_read_input_tokens"`
	Output  count `json:"output_tokens"`
}

func (a claudeUsage) plus(b claudeUsage) claudeUsage {
	return claudeUsage{a.Input + b.Input, a.Created + b.Created, a.Read + b.Read, a.Output + b.Output}
}

func (u claudeUsage) usage(source string) plan.Usage {
	return plan.Usage{
		Source:       source,
		InputTokens:  int64(u.Input + u.Created + u.Read),
		OutputTokens: int64(u.Output),
		CachedTokens: int64(u.Read),
	}
}

type claudeBlock struct {
	Type    string          `json:"type"`
	Text    text            `json:"text"`
	ID      string          `json:"id"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
	ToolUse string          `json:"tool_use_id"`
	Content json.RawMessage `json:"content"`
	IsError bool            `json:"is_error"`
}

// claudeContent is a list of blocks, or one text.
type claudeContent []claudeBlock

func (c *claudeContent) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*c = claudeContent{{Type: "text", Text: text(s)}}
		return nil
	}
	var blocks []claudeBlock
	decode(b, &blocks)
	*c = blocks
	return nil
}

func (c claudeContent) text() string {
	var parts []string
	for _, b := range c {
		if b.Type == "text" && b.Text != "" {
			parts = append(parts, string(b.Text))
		}
	}
	return strings.Join(parts, "\n")
}

func newClaude() *claude { return &claude{calls: calls{}} }

func (c *claude) busy() bool { return len(c.calls) > 0 }

func (c *claude) last(kind string) (final, ok bool) {
	switch kind {
	case "result":
		return true, true
	case "assistant", "user":
		return false, true // a task in the background came back
	}
	return false, false
}

func (c *claude) record(kind string, raw []byte) []Shown {
	switch kind {
	case "system":
		return c.system(raw)
	case "assistant":
		return c.assistant(raw)
	case "user":
		return c.user(raw)
	case "result":
		return c.result(raw)
	}
	return nil
}

func (c *claude) system(raw []byte) []Shown {
	var r struct {
		Subtype    string `json:"subtype"`
		Session    text   `json:"session_id"`
		Model      text   `json:"model"`
		Mode       text   `json:"permissionMode"`
		Attempt    count  `json:"attempt"`
		MaxRetries count  `json:"max_retries"`
		DelayMS    count  `json:"retry_delay_ms"`
		Status     count  `json:"error_status"`
		Error      text   `json:"error"`
	}
	decode(raw, &r)
	switch r.Subtype {
	case "init":
		if c.began {
			return nil
		}
		c.began = true
		return []Shown{{ShownInfo, fmt.Sprintf("claude session %s, model %s, permission mode %s",
			clip(oneLine(string(r.Session)), 60), clip(oneLine(string(r.Model)), 60), clip(oneLine(string(r.Mode)), 40))}}
	case "api_retry":
		c.trying = fatal(int(r.Status), string(r.Error))
		if c.trying.Reason == plan.ReasonRateLimited || c.trying.Reason == plan.ReasonOverloaded {
			c.trying.RetryAfter = wait(time.Duration(min(int64(r.DelayMS), maxRetryAfter.Milliseconds())) * time.Millisecond)
		}
		return []Shown{{ShownError, fmt.Sprintf("%s (%s), attempt %d of %d", c.trying.Reason, c.trying.Detail, r.Attempt, r.MaxRetries)}}
	case "compact_boundary":
		return []Shown{{ShownInfo, "the conversation was compacted"}}
	}
	return nil
}

func (c *claude) assistant(raw []byte) []Shown {
	var r struct {
		Message struct {
			ID         string        `json:"id"`
			Content    claudeContent `json:"content"`
			Usage      *claudeUsage  `json:"usage"`
			StopReason text          `json:"stop_reason"`
		} `json:"message"`
		Error text `json:"error"`
	}
	decode(raw, &r)
	m := r.Message
	var shown []Shown
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			kind := ShownText
			if r.Error != "" {
				kind = ShownError
			}
			shown = append(shown, said(kind, string(b.Text))...)
		case "tool_use", "server_tool_use", "mcp_tool_use":
			if b.Type == "tool_use" {
				c.calls.open(b.ID, b.Name)
			}
			shown = append(shown, called(b.Name, argument(b.Input)))
		}
	}
	switch {
	case m.StopReason == "refusal":
		c.failed = refusal(m.Content.text())
	case r.Error != "":
		c.failed = fatal(0, m.Content.text())
		if c.failed.Reason == plan.ReasonProviderError {
			c.failed.Reason = reasonOf(0, string(r.Error))
		}
	case len(m.Content) > 0:
		c.failed = nil
	}
	if m.Usage != nil {
		shown = append(shown, c.count(m.ID, *m.Usage)...)
	}
	return shown
}

// count adds a message's usage. One message comes as several records, each of
// which repeats it.
func (c *claude) count(id string, u claudeUsage) []Shown {
	id = clipBytes(id, 200)
	if id != c.msgID || id == "" {
		c.done, c.msg, c.msgID = c.done.plus(c.msg), claudeUsage{}, id
	}
	before := c.msg
	c.msg = u
	if u == before || u == (claudeUsage{}) {
		return nil
	}
	c.seen = true
	return []Shown{usageLine(c.done.plus(c.msg).usage(sourceClaudeMessages))}
}

func (c *claude) user(raw []byte) []Shown {
	var r struct {
		Message struct {
			Content claudeContent `json:"content"`
		} `json:"message"`
	}
	decode(raw, &r)
	var shown []Shown
	for _, b := range r.Message.Content {
		if b.Type != "tool_result" {
			continue
		}
		var content claudeContent
		decode(b.Content, &content)
		shown = append(shown, returned(c.calls.close(b.ToolUse), b.IsError, firstLine(content.text())))
	}
	return shown
}

func (c *claude) result(raw []byte) []Shown {
	var r struct {
		Subtype   string                 `json:"subtype"`
		IsError   bool                   `json:"is_error"`
		Status    count                  `json:"api_error_status"`
		Turns     count                  `json:"num_turns"`
		Result    *text                  `json:"result"`
		Errors    []text                 `json:"errors"`
		USD       *float64               `json:"total_cost_usd"`
		Usage     *claudeUsage           `json:"usage"`
		Models    map[string]claudeModel `json:"-"`
		ModelsRaw json.RawMessage        `json:"modelUsage"`
		Denials   []struct {
			Tool  text            `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
		} `json:"permission_denials"`
		StopReason text `json:"stop_reason"`
	}
	decode(raw, &r)
	decode(r.ModelsRaw, &r.Models)

	c.ended, c.out = true, Outcome{}
	clear(c.calls)
	final := ""
	if r.Result != nil {
		final = string(*r.Result)
		var f finalText
		f.add(final)
		c.out.FinalText, c.out.HasFinal, c.out.Truncated = f.String(), true, f.truncated
	}
	c.out.Usage = claudeTotal(r.Usage, r.Models, r.USD)

	// The subtype says "success" for API errors too, so is_error decides, and
	// a subtype that starts with "error" is an error whatever is_error says.
	words := final
	for _, e := range r.Errors {
		words += "\n" + string(e)
	}
	switch {
	case r.StopReason == "refusal" || c.failed != nil && c.failed.Reason == plan.ReasonRefused:
		c.out.Fatal = refusal(final)
	case r.IsError || strings.HasPrefix(r.Subtype, "error"):
		if strings.TrimSpace(words) == "" {
			words = r.Subtype
		}
		f := fatal(int(r.Status), words)
		if f.Reason == plan.ReasonProviderError && c.failed != nil {
			f.Reason = c.failed.Reason
		}
		// The last words have no retry-after; the CLI's own wait was at least
		// what the API asked for.
		if f.RetryAfter == nil && c.trying != nil && c.trying.Reason == f.Reason {
			f.RetryAfter = c.trying.RetryAfter
		}
		c.out.Fatal = f
	case c.failed != nil || claudeErrorText(final):
		// Some API errors are reported as success, with the error as the text.
		c.out.Fatal = c.failed
		if c.out.Fatal == nil {
			c.out.Fatal = fatal(int(r.Status), final)
		}
	case strings.TrimSpace(final) == "":
		c.notes.add("the final message is empty")
	}
	for _, d := range r.Denials {
		what := "the permission mode denied " + oneLine(string(d.Tool))
		if arg := argument(d.Input); arg != "" {
			what += ": " + clip(oneLine(arg), 120)
		}
		c.notes.add("%s", what)
	}

	var shown []Shown
	if f := c.out.Fatal; f != nil {
		// The text of an error is no result.
		c.out.FinalText, c.out.HasFinal, c.out.Truncated = "", false, false
		shown = append(shown, failed(f, c.failed))
	}
	if c.out.Usage != nil && c.out.Usage.Total() > 0 {
		shown = append(shown, usageLine(*c.out.Usage))
	}
	return shown
}

func refusal(words string) *Fatal {
	f := &Fatal{Reason: plan.ReasonRefused, Detail: clip(oneLine(words), 500)}
	if f.Detail == "" {
		f.Detail = "the model refused and gave no words"
	}
	return f
}

// claudeErrorText recognises the text that the CLI gives instead of an answer
// when an API call failed.
func claudeErrorText(s string) bool {
	s = strings.TrimSpace(s)
	return strings.HasPrefix(s, "API Error: ") || strings.HasPrefix(s, "API Error (") ||
		strings.HasPrefix(s, "Invalid API key · ") || strings.HasPrefix(s, "Not logged in · ")
}

type claudeModel struct {
	Input   count `json:"inputTokens"`
	Output  count `json:"outputTokens"`
	Read    count `json:"cacheReadInputTokens"`
	Created count `json:"cacheCreationInputTokens"`
}

// claudeTotal is the usage of the result record; nil where it reports none.
func claudeTotal(own *claudeUsage, models map[string]claudeModel, usd *float64) *plan.Usage {
	var sum claudeUsage
	for _, m := range models {
		sum = sum.plus(claudeUsage{Input: m.Input, Created: m.Created, Read: m.Read, Output: m.Output})
	}
	if sum == (claudeUsage{}) && own != nil {
		sum = *own
	}
	if own == nil && len(models) == 0 && usd == nil {
		return nil
	}
	u := sum.usage(sourceClaudeResult)
	if usd != nil && *usd >= 0 {
		u.USD = usd
	}
	return &u
}

func (c *claude) end() Outcome {
	out := c.out
	if !c.ended {
		out.Fatal = c.failed
		if c.began {
			c.notes.add("the stream ended without its result record")
		}
		if c.seen {
			u := c.done.plus(c.msg).usage(sourceClaudeMessages)
			out.Usage = &u
		}
		if c.trying != nil {
			c.notes.add("the CLI was retrying: %s (%s)", c.trying.Reason, c.trying.Detail)
		}
	}
	out.Notes = append(out.Notes, c.notes...)
	return out
}
