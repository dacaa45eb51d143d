package modelserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server is a running model service. It listens on 127.0.0.1 only.
type Server struct {
	URL string // "http://127.0.0.1:PORT"

	scripts map[string]Script
	http    *http.Server
	done    chan struct{}

	mu       sync.Mutex
	requests []Request
	times    map[string]int // requests by model and step
}

// Request is a call that the server answered.
type Request struct {
	Method string
	Path   string
	Model  string
	Step   int
	Tools  []string // names of the tools that the CLI offered
	Result string   // what its last tool call gave
}

// Start starts a server on a free port, or on port where it is not 0.
func Start(scripts map[string]Script, port int) (*Server, error) {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, fmt.Errorf("start model server: %w", err)
	}
	s := &Server{
		URL:     "http://" + l.Addr().String(),
		scripts: scripts,
		done:    make(chan struct{}),
		times:   map[string]int{},
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		// Serve returns when Close is called, and has nothing to tell then.
		_ = s.http.Serve(l)
	}()
	return s, nil
}

// Close ends the server and every open answer.
func (s *Server) Close() error {
	err := s.http.Close()
	<-s.done
	return err
}

// Requests returns what was asked so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// dialect is how one API puts a request and an answer.
type dialect interface {
	// read takes model, tool results and offered tools from a request.
	read(path string, body []byte) (call, error)
	// answer writes a step; read is the file to read with Step.Read.
	answer(w *events, c call, s Step, read string)
	// fail writes an HTTP error.
	fail(w http.ResponseWriter, s Step)
}

// call is a request as far as a script needs it.
type call struct {
	model   string
	prompt  string // what the user's side said, tool results apart
	results int    // tool results in it
	result  string // the last of them
	tools   []string
	whole   bool // one JSON answer instead of a stream
}

// say adds to the user's side.
func (c *call) say(text string) { c.prompt += text + "\n" }

func dialectOf(path string) dialect {
	switch {
	case strings.HasSuffix(path, "/messages"):
		return anthropic{}
	case strings.HasSuffix(path, "/responses"):
		return openai{}
	case strings.HasSuffix(path, ":streamGenerateContent"), strings.HasSuffix(path, ":generateContent"):
		return gemini{}
	}
	return nil
}

// ServeHTTP answers one call.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	d := dialectOf(r.URL.Path)
	if d == nil || r.Method != http.MethodPost {
		s.note(Request{Method: r.Method, Path: r.URL.Path})
		http.Error(w, `{"error":{"message":"no such endpoint"}}`, http.StatusNotFound)
		return
	}
	c, err := d.read(r.URL.Path, body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	step := s.step(c)
	s.note(Request{Method: r.Method, Path: r.URL.Path, Model: c.model, Step: c.results, Tools: c.tools, Result: c.result})
	if step.Reply != nil {
		step.Text = step.Reply(c.prompt)
	}
	path := ""
	if step.Read {
		if m := indexPath.FindStringSubmatch(c.prompt); m != nil {
			path = m[1]
		}
	}

	switch {
	case step.Read && path == "":
		http.Error(w, "the prompt names no inputs index", http.StatusBadRequest)
	case step.Silence:
		<-r.Context().Done()
	case step.Status != 0:
		if step.RetryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int(step.RetryAfter.Seconds())))
		}
		w.Header().Set("Content-Type", "application/json")
		d.fail(w, step)
	default:
		d.answer(&events{w: w, whole: c.whole, cut: step.Cut}, c, step, path)
		if step.Cut {
			hangUp(w)
		}
	}
}

// step picks the answer and counts the request.
func (s *Server) step(c call) Step {
	script, ok := s.scripts[c.model]
	if !ok || len(script) == 0 {
		return Step{Text: "ok"}
	}
	n := min(c.results, len(script)-1)
	step := script[n]
	if step.Times == 0 {
		return step
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := fmt.Sprintf("%s %d", c.model, n)
	s.times[key]++
	if s.times[key] > step.Times && step.Then != nil {
		return *step.Then
	}
	return step
}

func (s *Server) note(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// hangUp closes the connection without an end of the answer.
func hangUp(w http.ResponseWriter) {
	panic(http.ErrAbortHandler)
}

// events writes server-sent events, or gathers one whole answer.
type events struct {
	w     http.ResponseWriter
	whole bool
	cut   bool // after the first event nothing more is written
	n     int
}

// send writes one event; name may be empty.
func (e *events) send(name string, data any) {
	if e.cut && e.n > 0 {
		return
	}
	if e.n == 0 {
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.WriteHeader(http.StatusOK)
	}
	e.n++
	if name != "" {
		fmt.Fprintf(e.w, "event: %s\n", name)
	}
	fmt.Fprintf(e.w, "data: %s\n\n", mustJSON(data))
	if f, ok := e.w.(http.Flusher); ok {
		f.Flush()
	}
}

// all writes the one answer of a call that wants no stream.
func (e *events) all(data any) {
	e.w.Header().Set("Content-Type", "application/json")
	// A client that went away needs no answer.
	_, _ = e.w.Write(mustJSON(data))
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// object is a JSON object in an answer.
type object = map[string]any

var errNoModel = errors.New("the request names no model")
