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
	odd    bool // a usage in a form that is not known
	owed   bool // the usage so far was not shown yet
	began  bool
	ended  bool
	spoke  bool // the last message with a text was the model's own
	out    Outcome
	trying *Fatal // the error that the CLI retries; nil once it went on
	tried  *Fatal // the last one that it retried
	failed *Fatal // the last error that a message carried
}

type claudeUsage struct{ Input, Created, Read, Output count }

// readClaudeUsage reads the API's own form of a usage. Nil is none; known is
// false where it has a form that is not known.
func readClaudeUsage(raw json.RawMessage) (u *claudeUsage, known bool) {
	r, ok := readTokens(raw)
	if !ok {
		return nil, true
	}
	u = &claudeUsage{
		Input: r.must("input_tokens"), Created: r.may("cache_creation_input_tokens"),
		Read: r.may("cache_read_input_tokens"), Output: r.must("output_tokens"),
	}
	return u, r.known
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

func (c *claude) failing() bool { return c.trying != nil || c.failed != nil || c.out.Fatal != nil }

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
		c.trying = nil
		return c.assistant(raw)
	case "user":
		c.trying = nil
		return append(c.soFar(), c.user(raw)...)
	case "result":
		c.owed = false // it has the sum
		return c.result(raw)
	}
	return nil
}

// soFar shows the usage once it is clear that the message which reported it is
// not the last one: the sum comes with the result record.
func (c *claude) soFar() []Shown {
	if !c.owed {
		return nil
	}
	c.owed = false
	return []Shown{usageLine(c.done.plus(c.msg).usage(sourceClaudeMessages))}
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
			clipBytes(oneLine(string(r.Session)), 8), clip(oneLine(string(r.Model)), 60), clip(oneLine(string(r.Mode)), 40))}}
	case "api_retry":
		c.trying = fatal(int(r.Status), string(r.Error))
		if c.trying.Reason == plan.ReasonRateLimited || c.trying.Reason == plan.ReasonOverloaded {
			c.trying.RetryAfter = wait(time.Duration(min(int64(r.DelayMS), maxRetryAfter.Milliseconds())) * time.Millisecond)
		}
		c.tried = c.trying
		attempt := fmt.Sprintf(", attempt %d of %d", r.Attempt, r.MaxRetries)
		shown := Shown{ShownError, fmt.Sprintf("%s (%s)%s", c.trying.Reason, c.trying.Detail, attempt)}
		c.trying.Detail += attempt
		return []Shown{shown}
	case "compact_boundary":
		return []Shown{{ShownInfo, "the conversation was compacted"}}
	}
	return nil
}

func (c *claude) assistant(raw []byte) []Shown {
	var r struct {
		Message struct {
			ID         string          `json:"id"`
			Model      text            `json:"model"`
			Content    claudeContent   `json:"content"`
			Usage      json.RawMessage `json:"usage"`
			StopReason text            `json:"stop_reason"`
		} `json:"message"`
		Error text `json:"error"`
	}
	decode(raw, &r)
	m := r.Message
	var shown []Shown
	calls := false
	if id := clipBytes(m.ID, maxID); id == "" || id != c.msgID {
		shown = c.soFar()
	}
	if m.Content.text() != "" {
		c.spoke = r.Error == "" && m.Model != claudeSynthetic
	}
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
			calls = true
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
	switch u, known := readClaudeUsage(m.Usage); {
	case !known:
		c.odd = true
	case u != nil:
		c.count(m.ID, *u)
	}
	if calls {
		shown = append(shown, c.soFar()...)
	}
	return shown
}

// claudeSynthetic is the model of messages that the CLI made itself.
const claudeSynthetic = "<synthetic>"

const maxID = 200 // bytes of a message's id that are kept

// count adds a message's usage. One message comes as several records, each of
// which repeats it.
func (c *claude) count(id string, u claudeUsage) {
	id = clipBytes(id, maxID)
	if id != c.msgID || id == "" {
		c.done, c.msg, c.msgID = c.done.plus(c.msg), claudeUsage{}, id
	}
	before := c.msg
	c.msg = u
	if u == before || u == (claudeUsage{}) {
		return
	}
	c.seen, c.owed = true, true
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
		what := gist(content.text())
		if b.IsError {
			what = firstLine(content.text())
		}
		shown = append(shown, returned(c.calls.close(b.ToolUse), b.IsError, what))
	}
	return shown
}

func (c *claude) result(raw []byte) []Shown {
	var r struct {
		Subtype string          `json:"subtype"`
		IsError bool            `json:"is_error"`
		Status  count           `json:"api_error_status"`
		Turns   count           `json:"num_turns"`
		Result  *text           `json:"result"`
		Errors  []text          `json:"errors"`
		USD     json.RawMessage `json:"total_cost_usd"`
		Usage   json.RawMessage `json:"usage"`
		Models  json.RawMessage `json:"modelUsage"`
		Denials []struct {
			Tool  text            `json:"tool_name"`
			Input json.RawMessage `json:"tool_input"`
		} `json:"permission_denials"`
		StopReason text `json:"stop_reason"`
	}
	decode(raw, &r)
	trying := c.trying
	c.ended, c.trying, c.out = true, nil, Outcome{}
	clear(c.calls)
	final := ""
	if r.Result != nil {
		final = string(*r.Result)
		var f finalText
		f.add(final)
		c.out.FinalText, c.out.HasFinal, c.out.Truncated = f.String(), true, f.truncated
	}
	if c.out.Usage = claudeTotal(r.Usage, r.Models, r.USD); c.out.Usage == nil && !absent(r.Usage) {
		c.notes.add(oddUsage)
	}

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
		} else if f.Reason == plan.ReasonProviderError && trying != nil {
			f = trying // it gave up, and says no better why
		}
		// The last words have no retry-after; the CLI's own wait was at least
		// what the API asked for.
		if f.RetryAfter == nil && c.tried != nil && c.tried.Reason == f.Reason {
			f.RetryAfter = c.tried.RetryAfter
		}
		c.out.Fatal = f
	case c.failed != nil || !c.spoke && claudeErrorText(final):
		// Some API errors are reported as success, with the error as the text.
		// A model may begin with such words too, and has then said them before.
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

// claudeTotal is the usage of the result record: of all models where it names
// them, else its own. It is nil where nothing is reported, or anything in a
// form that is not known.
func claudeTotal(own, models, usd json.RawMessage) *plan.Usage {
	sum, known := claudeModels(models)
	if !known {
		return nil
	}
	if sum == (claudeUsage{}) {
		u, known := readClaudeUsage(own)
		if u == nil || !known {
			return nil
		}
		sum = *u
	}
	total := sum.usage(sourceClaudeResult)
	total.USD = cost(usd)
	return &total
}

// claudeModels adds up modelUsage, which has names of its own.
func claudeModels(raw json.RawMessage) (sum claudeUsage, known bool) {
	if absent(raw) {
		return sum, true
	}
	var models map[string]json.RawMessage
	if json.Unmarshal(raw, &models) != nil {
		return sum, false
	}
	for _, m := range models {
		r, ok := readTokens(m)
		if !ok {
			return sum, false
		}
		sum = sum.plus(claudeUsage{
			Input: r.must("inputTokens"), Created: r.may("cacheCreationInputTokens"),
			Read: r.may("cacheReadInputTokens"), Output: r.must("outputTokens"),
		})
		if !r.known {
			return sum, false
		}
	}
	return sum, true
}

func (c *claude) end() Outcome {
	out := c.out
	if !c.ended {
		// What it was retrying when it ended is why it came no further.
		out.Fatal = c.failed
		if c.trying != nil {
			out.Fatal = c.trying
		}
		if c.began {
			c.notes.add("the stream ended without its result record")
		}
		if c.seen && !c.odd {
			u := c.done.plus(c.msg).usage(sourceClaudeMessages)
			out.Usage = &u
		}
	}
	out.Notes = append(out.Notes, c.notes...)
	return out
}
