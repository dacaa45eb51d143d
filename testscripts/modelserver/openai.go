package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// openai is the responses API.
type openai struct{}

func (openai) read(_ string, body []byte) (call, error) {
	var r struct {
		Model string `json:"model"`
		Input []struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Output  json.RawMessage `json:"output"`
		} `json:"input"`
		Tools []struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return call{}, err
	}
	if r.Model == "" {
		return call{}, errNoModel
	}
	c := call{model: r.Model}
	for _, i := range r.Input {
		switch i.Type {
		case "function_call_output", "custom_tool_call_output", "local_shell_call_output":
			c.results++
			c.result = string(i.Output)
		case "message":
			var parts []struct {
				Text string `json:"text"`
			}
			if i.Role != "user" || json.Unmarshal(i.Content, &parts) != nil {
				continue
			}
			for _, p := range parts {
				c.say(p.Text)
			}
		}
	}
	for _, t := range r.Tools {
		if t.Name == "" {
			t.Name = t.Type
		}
		c.tools = append(c.tools, t.Name)
	}
	return c, nil
}

// shellCall is a call of whichever shell tool was offered.
func (c call) shellCall(command string) object {
	name, args := "shell", object{"command": []string{"bash", "-c", command}}
	switch {
	case slices.Contains(c.tools, "exec_command"):
		name, args = "exec_command", object{"cmd": command, "yield_time_ms": 30000}
	case slices.Contains(c.tools, "shell_command"):
		name, args = "shell_command", object{"command": command}
	}
	return object{"type": "function_call", "id": fmt.Sprintf("fc_story_%d", c.results), "call_id": fmt.Sprintf("call_story_%d", c.results), "name": name, "arguments": string(mustJSON(args)), "status": "completed"}
}

func (openai) answer(w *events, c call, s Step, read string) {
	response := object{"id": "resp_story", "object": "response", "model": c.model, "status": "in_progress", "output": []object{}}
	w.send("response.created", object{"type": "response.created", "response": response})
	var items []object
	if s.Text != "" {
		part := object{"type": "output_text", "text": s.Text, "annotations": []string{}}
		items = append(items, object{"type": "message", "id": "msg_story", "role": "assistant", "status": "completed", "content": []object{part}})
	}
	switch {
	case read != "":
		items = append(items, c.shellCall("cat '"+read+"'"))
	case s.Shell != "":
		items = append(items, c.shellCall(s.Shell))
	}
	for i, item := range items {
		w.send("response.output_item.added", object{"type": "response.output_item.added", "output_index": i, "item": item})
		w.send("response.output_item.done", object{"type": "response.output_item.done", "output_index": i, "item": item})
	}
	if s.Refuse {
		response["status"] = "failed"
		response["error"] = object{"code": "invalid_prompt", "message": "This request was refused under the usage policy."}
		w.send("response.failed", object{"type": "response.failed", "response": response})
		return
	}
	response["status"], response["output"] = "completed", items
	response["usage"] = object{
		"input_tokens": usageInput, "input_tokens_details": object{"cached_tokens": usageCached},
		"output_tokens": usageOutput + usageReasoning, "output_tokens_details": object{"reasoning_tokens": usageReasoning},
		"total_tokens": usageInput + usageOutput + usageReasoning,
	}
	w.send("response.completed", object{"type": "response.completed", "response": response})
}

func (openai) fail(w http.ResponseWriter, s Step) {
	e := object{"message": s.Message, "type": "invalid_request_error", "code": nil, "param": nil}
	switch {
	case s.Kind == kindContext:
		e["code"], e["message"] = "context_length_exceeded", "Your input exceeds the context window of this model."
	case s.Status == http.StatusUnauthorized:
		e["code"] = "invalid_api_key"
	case s.Status == http.StatusNotFound:
		e["code"], e["message"] = "model_not_found", "The model 'story-404' does not exist or you do not have access to it."
	case s.Status == http.StatusTooManyRequests:
		e["code"], e["type"] = "rate_limit_exceeded", "requests"
	case s.Status >= 500:
		e["type"] = "server_error"
	}
	w.WriteHeader(s.Status)
	_, _ = w.Write(mustJSON(object{"error": e}))
}
