package cmux

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// maxAnswer bounds one answer line.
const maxAnswer = 16 << 20

// Codes of cmux that this backend tells apart. Messages are localised and are
// only ever shown.
const (
	codeNotFound       = "not_found"
	codeInvalidState   = "invalid_state"
	codeMethodNotFound = "method_not_found"
	codeAuthRequired   = "auth_required"
	codeRateLimited    = "rate_limited"
	codeOverloaded     = "overloaded"
)

// serverError is an error that cmux answered. The request was not carried out.
type serverError struct {
	Code       string `json:"code"`
	Message    string `json:"message"`
	RetryAfter int    `json:"retry_after_ms"`
	Data       struct {
		Retryable  *bool `json:"retryable"`
		RetryAfter int   `json:"retry_after_ms"`
	} `json:"data"`
}

func (e *serverError) Error() string {
	return fmt.Sprintf("cmux answered %s: %s", printable(e.Code), printable(e.Message))
}

// code returns the code that cmux answered, or "".
func code(err error) string {
	var e *serverError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// Errors of the connection itself.
var (
	// errDown: nothing reached a server.
	errDown = errors.New("cmux does not answer")
	// errDenied: cmux does not let this process in.
	errDenied = errors.New("cmux refuses this process")
	// errLost: the request was sent, and what became of it is not known.
	errLost = errors.New("the answer was lost")
)

// link is a pinned socket with what it takes to be let in.
type link struct {
	socket     string
	capability string
	password   func() string
	timeout    time.Duration
}

// session is a connection that one batch of requests shares. It is dialled
// when first needed and again after a failure. It is used by one goroutine.
type session struct {
	link
	conn    net.Conn
	reader  *bufio.Reader
	peerPID int
	next    int
}

func newSession(l link) *session { return &session{link: l} }

func (s *session) Close() {
	if s.conn != nil {
		s.conn.Close()
		s.conn, s.reader = nil, nil
	}
}

// call sends one request and decodes the result. A *serverError means that cmux
// refused it; errDown and errDenied that nothing was carried out; errLost that
// it may have been. A request that cmux declined to look at for its load is
// sent again after the pause that cmux asks for.
func (s *session) call(ctx context.Context, method string, params, result any) error {
	for attempt := 0; ; attempt++ {
		err := s.try(ctx, method, params, result)
		pause, again := declined(err)
		if !again || attempt == 20 {
			return wrapCall(method, err)
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return wrapCall(method, err)
		case <-timer.C:
		}
	}
}

func wrapCall(method string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", method, err)
}

// declined says whether cmux turned a request away unread, and for how long.
func declined(err error) (time.Duration, bool) {
	var e *serverError
	if !errors.As(err, &e) {
		return 0, false
	}
	switch e.Code {
	case codeRateLimited:
	case codeOverloaded:
		if e.Data.Retryable != nil && !*e.Data.Retryable {
			return 0, false
		}
	default:
		return 0, false
	}
	ms := max(e.RetryAfter, e.Data.RetryAfter)
	if ms <= 0 {
		ms = 100
	}
	return time.Duration(min(ms, 2000)) * time.Millisecond, true
}

func (s *session) try(ctx context.Context, method string, params, result any) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	return s.exchange(ctx, method, params, result)
}

// open dials and gets in. A ping goes first, so that a refusal can never be
// mistaken for the lost answer of a request that changes something.
func (s *session) open(ctx context.Context) error {
	if s.conn != nil {
		return nil
	}
	if err := checkSocket(s.socket); err != nil {
		return err
	}
	dialer := net.Dialer{Timeout: s.timeout}
	conn, err := dialer.DialContext(ctx, "unix", s.socket)
	if err != nil {
		return fmt.Errorf("%w: connect to %s: %v", errDown, s.socket, err)
	}
	s.conn, s.reader = conn, bufio.NewReaderSize(conn, 64<<10)
	s.peerPID = peerPID(conn)
	err = s.exchange(ctx, "system.ping", struct{}{}, nil)
	if code(err) == codeAuthRequired {
		if err = s.authenticate(ctx); err == nil {
			err = s.exchange(ctx, "system.ping", struct{}{}, nil)
		}
	}
	if err != nil {
		s.Close()
		if errors.Is(err, errLost) && ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			// Older versions close the connection instead of saying why.
			err = fmt.Errorf("%w: it closed the connection without an answer", errDenied)
		}
	}
	return err
}

// authenticate logs in with the password, by method and, where that is not
// known, by the older line.
func (s *session) authenticate(ctx context.Context) error {
	password := s.password()
	if password == "" {
		return fmt.Errorf("%w: it asks for a password", errDenied)
	}
	if strings.ContainsAny(password, "\r\n") {
		return fmt.Errorf("%w: the password holds a line break", errDenied)
	}
	err := s.exchange(ctx, "auth.login", map[string]string{"password": password}, nil)
	if code(err) == codeMethodNotFound {
		var line string
		if line, err = s.line(ctx, "auth "+password); err == nil && !strings.HasPrefix(line, "OK") {
			err = &serverError{Code: "auth_failed"}
		}
	}
	if code(err) != "" {
		return fmt.Errorf("%w: the password is wrong, or none is set in its settings (%s)", errDenied, code(err))
	}
	return err
}

type request struct {
	ID     string `json:"id"`
	Method string `json:"method"`
	Params any    `json:"params"`
}

type response struct {
	ID     string          `json:"id"`
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result"`
	Error  *serverError    `json:"error"`
}

// exchange sends one request on the open connection and waits for its answer.
// Whatever leaves the stream in doubt closes the connection.
func (s *session) exchange(ctx context.Context, method string, params, result any) error {
	s.next++
	req := request{ID: "okstra-" + strconv.Itoa(s.next), Method: method, Params: params}
	data, err := json.Marshal(req)
	if err != nil {
		panic(fmt.Sprintf("cmux: encode %s: %v", method, err))
	}
	line, err := s.round(ctx, data)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, []byte("{")) {
		s.Close()
		return plainRefusal(string(line))
	}
	var res response
	if err := json.Unmarshal(line, &res); err != nil {
		s.Close()
		return fmt.Errorf("%w: unreadable answer: %v", errLost, err)
	}
	if res.ID != req.ID {
		s.Close()
		return fmt.Errorf("%w: answer to another request (%q)", errLost, printable(res.ID))
	}
	if !res.OK {
		if res.Error == nil {
			return &serverError{Code: "invalid_answer", Message: "an error without a code"}
		}
		return res.Error
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(res.Result, result); err != nil {
		return fmt.Errorf("%w: unexpected result: %v", errLost, err)
	}
	return nil
}

// plainRefusal understands a line that answers a request in the older form.
func plainRefusal(line string) error {
	fields := strings.Fields(line)
	if len(fields) >= 2 && fields[1] == codeOverloaded {
		e := &serverError{Code: codeOverloaded, Message: line}
		for _, f := range fields[2:] {
			if ms, ok := strings.CutPrefix(f, "retry_after_ms="); ok {
				e.RetryAfter, _ = strconv.Atoi(ms)
			}
		}
		return e
	}
	return fmt.Errorf("%w: %s", errDenied, printable(strings.TrimPrefix(line, "ERROR: ")))
}

// line sends a line of the older protocol and returns the first line of the
// answer.
func (s *session) line(ctx context.Context, text string) (string, error) {
	line, err := s.round(ctx, []byte(text))
	return string(line), err
}

// round writes one line and reads one.
func (s *session) round(ctx context.Context, data []byte) ([]byte, error) {
	deadline := time.Now().Add(s.timeout)
	if d, ok := ctx.Deadline(); ok && d.Before(deadline) {
		deadline = d
	}
	conn := s.conn
	conn.SetDeadline(deadline)
	// A cancelled context ends the wait at once.
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	out := make([]byte, 0, len(data)+len(s.capability)+32)
	if s.capability != "" {
		out = append(out, "_cmux_capability_v1 "+s.capability+" "...)
	}
	out = append(append(out, data...), '\n')
	_, writeErr := conn.Write(out)
	// A refusal may stand in the buffer although the write failed.
	line, err := readLine(s.reader)
	if err != nil {
		s.Close()
		if writeErr != nil {
			err = writeErr
		}
		return nil, fmt.Errorf("%w: %w", errLost, err)
	}
	return line, nil
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return nil, io.ErrUnexpectedEOF
			}
			return nil, err
		case len(line) > maxAnswer:
			return nil, fmt.Errorf("an answer of more than %d bytes", maxAnswer)
		}
	}
}

// checkSocket refuses a path that is no socket of this user before anything is
// sent to it.
func checkSocket(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: %v", errDown, err)
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%w: %s is no socket", errDown, path)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%w: the socket %s belongs to another user", errDenied, path)
	}
	return nil
}

// printable makes a text of cmux fit for one line of ours.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + "…"
	}
	return strings.TrimSpace(s)
}
