package modelserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// gemini is the generateContent API.
type gemini struct{}

func (gemini) read(path string, body []byte) (call, error) {
	var r struct {
		Contents []struct {
			Role  string `json:"role"`
			Parts []struct {
				Text     string          `json:"text"`
				Response json.RawMessage `json:"functionResponse"`
			} `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			Functions []struct {
				Name string `json:"name"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return call{}, err
	}
	_, name, _ := strings.Cut(path, "/models/")
	model, method, _ := strings.Cut(name, ":")
	if model == "" {
		return call{}, errNoModel
	}
	c := call{model: model, whole: method == "generateContent"}
	for _, content := range r.Contents {
		for _, p := range content.Parts {
			if len(p.Response) > 0 {
				c.results++
				c.result = string(p.Response)
			}
			if content.Role == "user" && p.Text != "" {
				c.say(p.Text)
			}
		}
	}
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			c.tools = append(c.tools, f.Name)
		}
	}
	return c, nil
}

func (gemini) answer(w *events, c call, s Step, read string) {
	var parts []object
	if s.Text != "" {
		parts = append(parts, object{"text": s.Text})
	}
	finish := "STOP"
	switch {
	case read != "" && slices.Contains(c.tools, "run_shell_command"):
		// Its file tools refuse what git ignores, and git ignores .okstra.
		parts = append(parts, object{"functionCall": object{"name": "run_shell_command", "args": object{"command": "cat " + read}}})
	case read != "":
		parts = append(parts, object{"functionCall": object{"name": "read_file", "args": object{"file_path": read}}})
	case s.Shell != "":
		parts = append(parts, object{"functionCall": object{"name": "run_shell_command", "args": object{"command": s.Shell, "description": "Do the step"}}})
	case s.Refuse:
		finish = "PROHIBITED_CONTENT"
	}
	chunk := func(parts []object, finish string) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		out := object{"candidates": []object{candidate}, "modelVersion": c.model}
		if finish != "" {
			candidate["finishReason"] = finish
			out["usageMetadata"] = object{
				"promptTokenCount": usageInput, "cachedContentTokenCount": usageCached, "candidatesTokenCount": usageOutput,
				"thoughtsTokenCount": usageReasoning, "totalTokenCount": usageInput + usageOutput + usageReasoning,
			}
		}
		return out
	}
	if w.whole {
		w.all(chunk(parts, finish))
		return
	}
	for i, p := range parts {
		end := ""
		if i == len(parts)-1 {
			end = finish
		}
		w.send("", chunk([]object{p}, end))
	}
	if len(parts) == 0 {
		w.send("", chunk([]object{}, finish))
	}
}

func (gemini) fail(w http.ResponseWriter, s Step) {
	words := map[int]string{400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 529: "UNAVAILABLE"}
	e := object{"code": s.Status, "message": s.Message, "status": words[s.Status]}
	switch {
	case s.Kind == kindContext:
		e["message"] = "The input token count (1250000) exceeds the maximum number of tokens allowed (1048576)."
	case s.Status == http.StatusNotFound:
		e["message"] = "models/story-404 is not found for API version v1beta, or is not supported for generateContent."
	}
	if s.RetryAfter > 0 {
		e["details"] = []object{{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": fmt.Sprintf("%ds", int(s.RetryAfter.Seconds()))}}
	}
	w.WriteHeader(s.Status)
	_, _ = w.Write(mustJSON(object{"error": e}))
}
