package cmuxtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func newServer(t *testing.T, o Options) *Server {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// cmux runs the command as a user types it in the lead.
func cmux(t *testing.T, s *Server, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(s.Command(), args...)
	cmd.Env = s.LeadEnv()
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatal("never came: " + what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestCommand(t *testing.T) {
	s := newServer(t, Options{})
	tests := []struct {
		args string
		out  string // a part of it
		fail bool
	}{
		{"--version", "cmux 0.64.25 (100) [7652d3b1c]", false},
		{"ping", "PONG", false},
		{"new-split", "Error: new-split requires a direction", true},
		{"new-split sideways", "Error: invalid_params: direction", true},
		{"new-split right", "OK surface:1 workspace:1", false},
		{"close-surface --surface surface:1", "OK surface:1 workspace:1", false},
		{"close-surface --surface surface:1", "Error: not_found: Surface not found", true},
		{"close-surface", "Error: invalid_state: Cannot close the last surface", true},
		{"send", "Error: send requires text", true},
		{"read-screen --lines 0", "Error: --lines must be greater than 0", true},
		{"set-status k some value", "OK", false},
		{"list-status", "k=some value", false},
		{"--id-format x ping", "Error: --id-format must be one of: refs, uuids, both", true},
		{"rpc surface.list [", "must be valid JSON", true},
		{"rpc no.method", "Error: method_not_found", true},
		{"nonsense", "Error: Unknown command 'nonsense'", true},
		{"--socket /nowhere ping", "Error: Socket not found at /nowhere", true},
	}
	for _, test := range tests {
		out, err := cmux(t, s, strings.Fields(test.args)...)
		if !strings.Contains(out, test.out) || (err != nil) != test.fail {
			t.Errorf("cmux %s: %q, %v", test.args, out, err)
		}
	}
	out, err := cmux(t, s, "--json", "--id-format", "uuids", "identify")
	if err != nil || !strings.Contains(out, s.Lead().ID) || strings.Contains(out, "surface:1") {
		t.Errorf("identify: %s, %v", out, err)
	}
}

func TestASurfaceRunsARealProcess(t *testing.T) {
	s := newServer(t, Options{Env: []string{"PATH=" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=secret", "APP=1"}})
	script := filepath.Join(s.Dir(), "script")
	file := filepath.Join(s.Dir(), "out")
	text := "#!/bin/sh\ntty; stty size; env > " + file + ".new; mv " + file + ".new " + file + "; exec cat\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	made := call(t, s, "surface.split", map[string]any{
		"direction": "right", "initial_command": script,
		"startup_environment": map[string]any{"MINE": "2", "CMUX_SURFACE_ID": "forged"},
	})
	id, _ := made["surface_id"].(string)
	eventually(t, "the environment", func() bool { _, err := os.Stat(file); return err == nil })
	env, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	get := Getenv(strings.Split(string(env), "\n"))
	for name, want := range map[string]string{
		"CMUX_SURFACE_ID": id, "CMUX_PANEL_ID": id, "CMUX_TAB_ID": s.Lead().Workspace, "CMUX_SOCKET_PATH": s.Socket(),
		"MINE": "2", "APP": "1", "ANTHROPIC_API_KEY": "", "TERM_PROGRAM": "ghostty",
	} {
		if got := get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	eventually(t, "its size on its screen", func() bool {
		text, _ := call(t, s, "surface.read_text", map[string]any{"surface_id": id})["text"].(string)
		return strings.Contains(text, "92 154")
	})
	call(t, s, "surface.send_text", map[string]any{"surface_id": id, "text": "typed\r"})
	eventually(t, "what was typed", func() bool {
		text, _ := call(t, s, "surface.read_text", map[string]any{"surface_id": id})["text"].(string)
		return strings.Contains(text, "typed\ntyped")
	})
}

// call is one request of the newer protocol, which must succeed.
func call(t *testing.T, s *Server, method string, params map[string]any) map[string]any {
	t.Helper()
	answer := roundTrip(t, s, method, params)
	if answer["ok"] != true {
		t.Fatalf("%s: %v", method, answer["error"])
	}
	result, _ := answer["result"].(map[string]any)
	return result
}

func roundTrip(t *testing.T, s *Server, method string, params map[string]any) map[string]any {
	t.Helper()
	data, err := json.Marshal(map[string]any{"id": 1, "method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal([]byte(line(t, s, string(data))), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// line sends lines on one connection and returns the last answer.
func line(t *testing.T, s *Server, lines ...string) string {
	t.Helper()
	conn, err := net.Dial("unix", s.Socket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	answer := ""
	for _, l := range lines {
		if _, err := fmt.Fprintln(conn, l); err != nil {
			t.Fatal(err)
		}
		if answer, err = r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return strings.TrimSpace(answer)
}

// A ref that the registry does not know meant the focused surface, until it
// meant nothing.
func TestStaleRef(t *testing.T) {
	for version, want := range map[string]bool{"0.64.17": true, "0.64.20": true, "0.64.22": false, "0.64.25": false} {
		s := newServer(t, Options{Version: version})
		if _, err := s.Split(s.Lead().ID, "right"); err != nil {
			t.Fatal(err)
		}
		answer := roundTrip(t, s, "surface.close", map[string]any{"workspace_id": s.Lead().Workspace, "surface_id": "surface:99"})
		if answer["ok"] != want {
			t.Errorf("%s: %v", version, answer)
		}
		unknown := roundTrip(t, s, "surface.split", map[string]any{"direction": "right", "workspace_id": s.Lead().Workspace, "surface_id": newID()})
		if unknown["ok"] == true {
			t.Errorf("%s: an unknown id was taken for another", version)
		}
	}
}

func TestWrongWorkspace(t *testing.T) {
	s := newServer(t, Options{})
	other, err := s.AddWorkspace("other", false)
	if err != nil {
		t.Fatal(err)
	}
	for method, want := range map[string]string{"surface.close": "not_found", "surface.respawn": "not_found", "surface.read_text": "invalid_params"} {
		answer := roundTrip(t, s, method, map[string]any{"workspace_id": other.Workspace, "surface_id": s.Lead().ID})
		if e, _ := answer["error"].(map[string]any); e["code"] != want {
			t.Errorf("%s: %v", method, answer)
		}
	}
}

func TestExitOfTheLastSurface(t *testing.T) {
	for version, want := range map[string]int{"0.64.17": 1, "0.64.25": 0} {
		s := newServer(t, Options{Version: version, Faults: Faults{Abnormal: -1}})
		lead := s.Lead()
		call(t, s, "surface.send_text", map[string]any{"surface_id": lead.ID, "text": "exit\r"})
		eventually(t, "the end of the lead", func() bool { return s.find(lead.ID).ID == "" })
		if n := len(s.Surfaces()); n != want {
			t.Errorf("%s: %d surfaces are left, want %d", version, n, want)
		}
	}
}

func TestCloseOfTheLastWorkspace(t *testing.T) {
	s := newServer(t, Options{Version: "0.64.17"})
	call(t, s, "workspace.close", map[string]any{"workspace_id": s.Lead().Workspace})
	if s.Lead().ID == "" {
		t.Error("it was closed; 0.64.17 only says so")
	}
}

func TestPasswordLine(t *testing.T) {
	s := newServer(t, Options{Mode: "password", Password: "s3"})
	for lines, want := range map[string]string{
		"ping":                            "ERROR: Authentication required",
		"auth s4":                         "ERROR: Invalid password",
		"auth s3":                         "OK: Authenticated",
		"auth s3\nping":                   "PONG",
		`{"id":1,"method":"system.ping"}`: `"auth_required"`,
	} {
		if got := line(t, s, strings.Split(lines, "\n")...); !strings.Contains(got, want) {
			t.Errorf("%q: %q", lines, got)
		}
	}
}

func TestRateLimit(t *testing.T) {
	s := newServer(t, Options{})
	var lines []string
	for range 10 {
		lines = append(lines, `{"id":1,"method":"window.list","params":{}}`)
	}
	if got := line(t, s, lines...); !strings.Contains(got, "rate_limited") {
		t.Errorf("the tenth read: %q", got)
	}
	if got := line(t, s, lines[:9]...); strings.Contains(got, "rate_limited") {
		t.Errorf("the ninth read: %q", got)
	}
}

func TestRestartRenamesEverything(t *testing.T) {
	s := newServer(t, Options{})
	if _, err := s.Split(s.Lead().ID, "right"); err != nil {
		t.Fatal(err)
	}
	before := s.Surfaces()
	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	for i, after := range s.Surfaces() {
		if after.ID == before[i].ID || after.Workspace == before[i].Workspace || after.PID == before[i].PID {
			t.Errorf("%+v became %+v", before[i], after)
		}
	}
}

func TestFrames(t *testing.T) {
	s := newServer(t, Options{Width: 1500, Height: 900})
	right, err := s.Split(s.Lead().ID, "right")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if right, err = s.Split(right.ID, "down"); err != nil {
			t.Fatal(err)
		}
	}
	rows := func() string {
		var out []string
		for _, sf := range s.Surfaces() {
			out = append(out, fmt.Sprintf("%dx%d", sf.Columns, sf.Rows))
		}
		return strings.Join(out, " ")
	}
	if got := rows(); got != "100x60 100x30 100x15 100x15" {
		t.Errorf("each half: %s", got)
	}
	call(t, s, "workspace.equalize_splits", map[string]any{"orientation": "vertical"})
	if got := rows(); got != "100x60 100x20 100x20 100x20" {
		t.Errorf("even: %s", got)
	}
}
