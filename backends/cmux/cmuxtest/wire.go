package cmuxtest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// client is one connection.
type client struct {
	s             *Server
	conn          net.Conn
	authenticated bool
	tokens        float64
	filled        time.Time
}

func (s *Server) accept(l net.Listener) {
	defer s.served.Done()
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed || s.faults.Deny == "before" {
			s.mu.Unlock()
			conn.Close()
			continue
		}
		s.conns[conn] = true
		s.served.Add(1)
		s.mu.Unlock()
		c := &client{s: s, conn: conn, tokens: -1}
		go func() {
			defer s.served.Done()
			c.serve()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
			conn.Close()
		}()
	}
}

var errHangUp = errors.New("the connection is closed on purpose")

func (c *client) serve() {
	r := bufio.NewReader(c.conn)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return
		}
		answer, err := c.answer(strings.TrimRight(line, "\r\n"))
		if answer != "" {
			if _, err := c.conn.Write([]byte(answer + "\n")); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// answer handles one line. An error ends the connection after the answer.
func (c *client) answer(line string) (string, error) {
	s := c.s
	capable := false
	if rest, ok := strings.CutPrefix(line, "_cmux_capability_v1 "); ok && s.version.atLeast(0, 64, 20) {
		token, request, _ := strings.Cut(rest, " ")
		capable, line = s.capable(token), request
	}
	s.mu.Lock()
	stuck, denied := s.faults.Stuck, s.denied(c.conn, capable)
	s.mu.Unlock()
	if stuck {
		return "", nil
	}
	if denied {
		return "ERROR: Access denied - only processes started inside cmux can connect", errHangUp
	}
	if !strings.HasPrefix(line, "{") {
		return c.plain(line)
	}
	var req struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params map[string]any  `json:"params"`
	}
	if err := json.Unmarshal([]byte(line), &req); err != nil {
		return s.encode(nil, nil, &fault{code: "parse_error", message: "Invalid JSON"}), nil
	}
	if req.Method == "" {
		return s.encode(req.ID, nil, &fault{code: "invalid_request", message: "Missing method"}), nil
	}
	return c.request(req.ID, req.Method, req.Params)
}

// denied judges a client by the access mode.
func (s *Server) denied(conn net.Conn, capable bool) bool {
	if s.faults.Deny != "" {
		return true
	}
	if s.options.Mode != "cmuxOnly" || capable {
		return false
	}
	return s.faults.Outsiders || !descendant(conn)
}

// fault is an error that is answered.
type fault struct {
	code, message string
	data          map[string]any
}

func (f *fault) Error() string { return f.code + ": " + f.message }

func notFound(what string) *fault { return &fault{code: "not_found", message: what + " not found"} }

func (s *Server) encode(id json.RawMessage, result any, f *fault) string {
	out := map[string]any{"id": id, "ok": f == nil}
	if f == nil {
		out["result"] = result
	} else {
		message := f.message
		if s.faults.Localized {
			message = "요청을 처리할 수 없습니다"
		}
		e := map[string]any{"code": f.code, "message": message}
		if f.data != nil {
			e["data"] = f.data
		}
		out["error"] = e
	}
	data, err := json.Marshal(out)
	if err != nil {
		panic(fmt.Sprintf("cmuxtest: encode an answer: %v", err))
	}
	return string(data)
}

// request handles one request of the newer protocol.
func (c *client) request(id json.RawMessage, name string, params map[string]any) (string, error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{Method: name, Params: params})
	if s.faults.Drop == name {
		s.faults.Drop = ""
		return "", errHangUp
	}
	if s.options.Mode == "password" && !c.authenticated && name != "auth.login" {
		return s.encode(id, nil, &fault{code: "auth_required", message: "Authentication required"}), nil
	}
	if name == "auth.login" {
		return c.login(id, params), nil
	}
	if s.faults.Overloaded > 0 && name != "system.ping" {
		s.faults.Overloaded--
		if s.faults.OverloadedLine {
			return "ERROR: overloaded retry_after_ms=50 reason=main_thread_busy", nil
		}
		return s.encode(id, nil, &fault{code: "overloaded", message: "Busy", data: map[string]any{"retryable": true, "retry_after_ms": 50}}), nil
	}
	if name == "events.stream" {
		return `{"type":"ack","protocol":"cmux-events","version":1,"boot_id":"` + s.boot + `","subscription_id":"` + newID() + `","heartbeat_interval_seconds":15,"replay_count":0}`, nil
	}
	m, ok := s.methods[name]
	if !ok {
		return s.encode(id, nil, &fault{code: "method_not_found", message: "Unknown method"}), nil
	}
	if m.read && !c.take() {
		return s.encode(id, nil, &fault{code: "rate_limited", message: "Too many requests", data: map[string]any{"retry_after_ms": 100}}), nil
	}
	if s.faults.Fail == name {
		return s.encode(id, nil, &fault{code: "internal_error", message: "Failed to do it"}), nil
	}
	result, f := m.do(s, params)
	if s.faults.Lose == name {
		s.faults.Lose = ""
		if s.faults.LoseSilently {
			return "", nil
		}
		return "", errHangUp
	}
	return s.encode(id, result, f), nil
}

func (c *client) login(id json.RawMessage, params map[string]any) string {
	s := c.s
	switch password, _ := params["password"].(string); {
	case s.options.Password == "":
		return s.encode(id, nil, &fault{code: "auth_unconfigured", message: "No password is configured"})
	case password != s.options.Password:
		return s.encode(id, nil, &fault{code: "auth_failed", message: "Invalid password"})
	}
	c.authenticated = true
	return s.encode(id, map[string]any{"authenticated": true}, nil)
}

// take spends one read of the connection's bucket.
func (c *client) take() bool {
	burst := c.s.burst()
	if burst <= 0 {
		return true
	}
	now := time.Now()
	if c.tokens < 0 {
		c.tokens = float64(burst)
	} else {
		c.tokens = min(float64(burst), c.tokens+now.Sub(c.filled).Seconds()*10)
	}
	c.filled = now
	if c.tokens < 1 {
		return false
	}
	c.tokens--
	return true
}

// plain handles a line of the older protocol.
func (c *client) plain(line string) (string, error) {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	verb, rest, _ := strings.Cut(line, " ")
	s.requests = append(s.requests, Request{Method: verb, Line: line})
	if verb == "auth" {
		switch {
		case rest == "":
			return "ERROR: Missing password. Usage: auth <password>", nil
		case s.options.Mode != "password":
			return "ERROR: Unknown command 'auth'. Use 'help' for available commands.", nil
		case s.options.Password == "":
			return "ERROR: Password mode is enabled but no socket password is configured in Settings.", nil
		case rest != s.options.Password:
			return "ERROR: Invalid password", nil
		}
		c.authenticated = true
		return "OK: Authenticated", nil
	}
	if s.options.Mode == "password" && !c.authenticated {
		return "ERROR: Authentication required — send auth <password> first", nil
	}
	if verb == "ping" {
		return "PONG", nil
	}
	return s.sidebar(verb, rest), nil
}

// sidebar handles status, progress and log. The workspace is not verified
// before the answer, as in the real program.
func (s *Server) sidebar(verb, rest string) string {
	options, words := map[string]string{}, []string{}
	fields := strings.Fields(rest)
	for i, f := range fields {
		if f == "--" {
			words = append(words, fields[i+1:]...)
			break
		}
		if name, value, ok := strings.Cut(strings.TrimPrefix(f, "--"), "="); ok && strings.HasPrefix(f, "--") {
			options[name] = value
			continue
		}
		words = append(words, f)
	}
	var ws *workspace
	for _, w := range s.windows {
		for _, other := range w.workspaces {
			if s.names(options["tab"], other.id) {
				ws = other
			}
		}
	}
	if ws == nil {
		ws = &workspace{status: map[string]string{}}
	}
	switch verb {
	case "set_status":
		if len(words) < 2 {
			return "ERROR: Missing status key or value"
		}
		ws.status[words[0]] = strings.Join(words[1:], " ")
	case "clear_status":
		if len(words) < 1 {
			return "ERROR: Missing status key"
		}
		delete(ws.status, words[0])
	case "set_progress":
		if len(words) != 1 {
			return "ERROR: Missing progress value"
		}
		ws.progress = words[0]
	case "clear_progress":
		ws.progress = ""
	case "log":
		ws.log = append(ws.log, strings.Join(words, " "))
	case "list_status":
		var lines []string
		for k, v := range ws.status {
			lines = append(lines, k+"="+v)
		}
		if len(lines) == 0 {
			return "No status entries"
		}
		return strings.Join(lines, "\n")
	default:
		return "ERROR: Unknown command '" + verb + "'. Use 'help' for available commands."
	}
	return "OK"
}
