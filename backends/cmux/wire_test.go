package cmux

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// answering serves one socket with a fixed answer to each line; {} in it is
// replaced by the request's id.
func answering(t testing.TB, answers ...string) *session {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "okstra-wire-")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r := bufio.NewReader(conn)
			for i := 0; ; i++ {
				line, err := r.ReadString('\n')
				if err != nil || i >= len(answers) {
					break
				}
				_, rest, _ := strings.Cut(line, `"id":"`)
				id, _, _ := strings.Cut(rest, `"`)
				io.WriteString(conn, strings.ReplaceAll(answers[i], "{}", id))
			}
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done; os.RemoveAll(dir) })
	s := newSession(link{socket: path, password: func() string { return "" }, timeout: 5 * time.Second})
	t.Cleanup(s.Close)
	return s
}

const pong = `{"id":"{}","ok":true,"result":{"pong":true}}` + "\n"

func TestAnswers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		answer string
		is     error  // the kind of error
		code   string // or the code
	}{
		{"result", `{"id":"{}","ok":true,"result":{"a":1}}` + "\n", nil, ""},
		{"crlf", `{"id":"{}","ok":true,"result":{"a":1}}` + "\r\n", nil, ""},
		{"code", `{"id":"{}","ok":false,"error":{"code":"not_found","message":"x"}}` + "\n", nil, "not_found"},
		{"not retryable", `{"id":"{}","ok":false,"error":{"code":"overloaded","data":{"retryable":false}}}` + "\n", nil, "overloaded"},
		{"no code", `{"id":"{}","ok":false}` + "\n", nil, "invalid_answer"},
		{"plain refusal", "ERROR: Access denied\n", errDenied, ""},
		{"another id", `{"id":"x","ok":true,"result":{}}` + "\n", errLost, ""},
		{"no JSON", "{nonsense\n", errLost, ""},
		{"cut off", `{"id":"{}","ok":`, errLost, ""},
		{"another type", `{"id":"{}","ok":true,"result":{"a":"text"}}` + "\n", errLost, ""},
		{"nothing", "", errLost, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := answering(t, pong, test.answer)
			if test.answer == "" {
				s = answering(t, pong)
			}
			if strings.HasSuffix(test.answer, "\n") == false {
				s.timeout = 200 * time.Millisecond
			}
			var result struct{ A int }
			err := s.call(t.Context(), "some.method", struct{}{}, &result)
			switch {
			case test.is != nil:
				if !errors.Is(err, test.is) {
					t.Errorf("got %v", err)
				}
			case test.code != "":
				if code(err) != test.code {
					t.Errorf("got %v", err)
				}
			case err != nil || result.A != 1:
				t.Errorf("got %+v, %v", result, err)
			}
		})
	}
}

func TestAnswerTooLong(t *testing.T) {
	t.Parallel()
	_, err := readLine(bufio.NewReaderSize(io.LimitReader(endless{}, maxAnswer+1<<20), 64<<10))
	if err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// Whatever cmux answers is either decoded or an error that can be shown.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"id":"okstra-1","ok":true,"result":{"surfaces":[{"id":null}]}}`, "ERROR: overloaded retry_after_ms=500 reason=x", "{", "", "\x00\xff", `{"id":"okstra-1","ok":false,"error":{"code":"\u001b[2J"}}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		client, server := net.Pipe()
		defer client.Close()
		go func() {
			defer server.Close()
			if _, err := bufio.NewReader(server).ReadString('\n'); err != nil {
				return
			}
			io.WriteString(server, line+"\n")
		}()
		s := &session{link: link{timeout: 5 * time.Second}, conn: client, reader: bufio.NewReader(client)}
		var result struct {
			Surfaces []struct{ ID string }
		}
		if err := s.exchange(t.Context(), "surface.list", nil, &result); err != nil && strings.ContainsAny(err.Error(), "\x1b\x00\n") {
			t.Errorf("the error holds control characters: %q", err)
		}
	})
}

func FuzzQuote(f *testing.F) {
	f.Add("a'b")
	f.Fuzz(func(t *testing.T, word string) {
		// Undoing the quoting as a shell does gives the word back.
		if got := strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(quote(word), "'"), "'"), `'\''`, "'"); got != word {
			t.Errorf("%q became %q", word, got)
		}
	})
}
