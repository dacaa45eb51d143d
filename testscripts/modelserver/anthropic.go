package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// anthropic is the messages API.
type anthropic struct{}

func (anthropic) read(_ string, body []byte) (call, error) {
	var r struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Messages []struct {
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return call{}, err
	}
	if r.Model == "" {
		return call{}, errNoModel
	}
	c := call{model: r.Model, whole: !r.Stream}
	for _, m := range r.Messages {
		var blocks []struct {
			Type    string          `json:"type"`
			Text    string          `json:"text"`
			Content json.RawMessage `json:"content"`
		}
		var whole string
		if json.Unmarshal(m.Content, &whole) == nil {
			c.say(whole)
			continue
		}
		if err := json.Unmarshal(m.Content, &blocks); err != nil {
			return call{}, err
		}
		for _, b := range blocks {
			switch b.Type {
			case "text":
				c.say(b.Text)
			case "tool_result":
				c.results++
				c.result = string(b.Content)
			}
		}
	}
	for _, t := range r.Tools {
		c.tools = append(c.tools, t.Name)
	}
	return c, nil
}

func (anthropic) answer(w *events, c call, s Step, read string) {
	usage := object{"input_tokens": usageInput - usageCached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": usageCached, "output_tokens": usageOutput}
	stop := "end_turn"
	var blocks []object
	if s.Text != "" {
		blocks = append(blocks, object{"type": "text", "text": s.Text})
	}
	switch {
	case read != "":
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": fmt.Sprintf("toolu_story_%d", c.results), "name": "Read", "input": object{"file_path": read}})
	case s.Shell != "":
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": fmt.Sprintf("toolu_story_%d", c.results), "name": "Bash", "input": object{"command": s.Shell, "description": "Do the step"}})
	case s.Refuse:
		stop = "refusal"
	}
	message := object{"id": fmt.Sprintf("msg_story_%d", c.results), "type": "message", "role": "assistant", "model": c.model, "content": []object{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}
	if w.whole {
		message["content"], message["stop_reason"] = blocks, stop
		w.all(message)
		return
	}
	w.send("message_start", object{"type": "message_start", "message": message})
	for i, b := range blocks {
		start, delta := object{"type": "text", "text": ""}, object{"type": "text_delta", "text": b["text"]}
		if b["type"] == "tool_use" {
			start = object{"type": "tool_use", "id": b["id"], "name": b["name"], "input": object{}}
			delta = object{"type": "input_json_delta", "partial_json": string(mustJSON(b["input"]))}
		}
		w.send("content_block_start", object{"type": "content_block_start", "index": i, "content_block": start})
		w.send("content_block_delta", object{"type": "content_block_delta", "index": i, "delta": delta})
		w.send("content_block_stop", object{"type": "content_block_stop", "index": i})
	}
	w.send("message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	w.send("message_stop", object{"type": "message_stop"})
}

func (anthropic) fail(w http.ResponseWriter, s Step) {
	kinds := map[int]string{400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
	kind, message := kinds[s.Status], s.Message
	switch {
	case s.Kind == kindContext:
		message = "prompt is too long: 250000 tokens > 200000 maximum"
	case s.Status == http.StatusNotFound:
		message = "model: story-404"
	}
	w.WriteHeader(s.Status)
	_, _ = w.Write(mustJSON(object{"type": "error", "error": object{"type": kind, "message": message}}))
}
