package cmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// anchor is where the caller stands in a server that answered: the workspace
// that workers are put into and the surface that they are put beside.
type anchor struct {
	socket    string
	server    server
	workspace string
	pane      string
	surface   string
}

// server is the identity of a running cmux. Either part may be unknown.
type server struct {
	pid  int
	boot string
}

// same reports whether two identities are one server, and whether that is known.
func (s server) same(o server) (same, known bool) {
	if s.boot != "" && o.boot != "" {
		return s.boot == o.boot, true
	}
	if s.pid != 0 && o.pid != 0 {
		return s.pid == o.pid, true
	}
	return false, false
}

// errNoCaller: cmux answers, and does not know in which surface this process
// runs. The focused surface is never taken in its place: it may be anybody's.
var errNoCaller = errors.New("cmux does not know in which of its surfaces this process runs")

// location is a surface as identify reports it.
type location struct {
	Workspace string `json:"workspace_id"`
	Pane      string `json:"pane_id"`
	Surface   string `json:"surface_id"`
}

type identity struct {
	Socket string    `json:"socket_path"`
	Caller *location `json:"caller"`
}

func (i identity) caller() (location, bool) {
	if i.Caller == nil {
		return location{}, false
	}
	l := location{upperUUID(i.Caller.Workspace), upperUUID(i.Caller.Pane), upperUUID(i.Caller.Surface)}
	return l, l.Workspace != "" && l.Surface != ""
}

// anchor finds the server and the caller in it, and returns a session with it.
func (b *Backend) anchor(ctx context.Context) (*session, anchor, error) {
	at := b.where()
	if !at.inside {
		return nil, anchor{}, errors.New(at.why)
	}
	paths, err := b.sockets()
	if err != nil {
		return nil, anchor{}, err
	}
	var failures []error
	for _, path := range paths {
		s := newSession(b.link(path))
		a, err := b.identify(ctx, s, at)
		if err == nil {
			s.socket = a.socket
			return s, a, nil
		}
		s.Close()
		// What is not there says nothing, as long as something else is.
		if !errors.Is(err, errDown) || len(failures) == 0 {
			failures = append(failures, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, anchor{}, worst(failures)
}

// worst picks the failure that tells the most: a server that answered says more
// than a socket that is not there.
func worst(failures []error) error {
	for _, kind := range []error{errNoCaller, errDenied} {
		for _, err := range failures {
			if errors.Is(err, kind) {
				return err
			}
		}
	}
	for _, err := range failures {
		if !errors.Is(err, errDown) {
			return err
		}
	}
	if len(failures) > 0 {
		return failures[0]
	}
	return fmt.Errorf("%w: no socket is known", errDown)
}

// identify finds the caller by the ids of its environment, by its surface in
// the tree of all windows (a moved pane keeps its id), or by its terminal.
func (b *Backend) identify(ctx context.Context, s *session, at place) (anchor, error) {
	var id identity
	params := map[string]any{}
	if at.workspace != "" && at.surface != "" {
		params["caller"] = map[string]string{"workspace_id": at.workspace, "surface_id": at.surface}
	}
	if err := s.call(ctx, "system.identify", params, &id); err != nil {
		return anchor{}, err
	}
	found, ok := location{}, false
	if at.surface != "" {
		found, ok = id.caller()
		ok = ok && found.Surface == at.surface
	}
	if !ok && at.surface != "" {
		tree, err := s.tree(ctx)
		if err != nil {
			return anchor{}, err
		}
		found, ok = tree[at.surface]
	}
	if !ok {
		found, ok = b.identifyByTTY(ctx, s.socket)
	}
	if !ok {
		return anchor{}, errNoCaller
	}
	a := anchor{socket: pin(id.Socket, s.socket), workspace: found.Workspace, pane: found.Pane, surface: found.Surface}
	a.server = s.server(ctx)
	return a, nil
}

// pin prefers the path that the server gives as its own, if it is one that can
// be spoken to.
func pin(reported, dialled string) string {
	if filepath.IsAbs(reported) && checkSocket(reported) == nil {
		return reported
	}
	return dialled
}

// identifyByTTY lets the cmux program ask with the caller's terminal as its
// standard input, by which the server knows the surface.
func (b *Backend) identifyByTTY(ctx context.Context, socket string) (location, bool) {
	program := b.findProgram()
	if program == "" {
		return location{}, false
	}
	tty, err := os.Open(b.tty)
	if err != nil {
		return location{}, false
	}
	defer tty.Close()
	ctx, cancel := context.WithTimeout(ctx, b.callTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--socket", socket, "--json", "--id-format", "uuids", "identify")
	b.command(cmd, socket)
	cmd.Stdin = tty
	out, err := cmd.Output()
	if err != nil {
		return location{}, false
	}
	var id identity
	if json.Unmarshal(out, &id) != nil {
		return location{}, false
	}
	return id.caller()
}

// server reads the identity of the server. What it does not tell stays unknown.
func (s *session) server(ctx context.Context) server {
	// The stream takes its connection over, so it has one of its own.
	stream := newSession(s.link)
	defer stream.Close()
	id := server{pid: s.peerPID}
	if err := stream.open(ctx); err != nil {
		return id
	}
	params, err := json.Marshal(request{ID: "okstra-boot", Method: "events.stream", Params: map[string]any{"include_heartbeats": false}})
	if err != nil {
		panic(err)
	}
	line, err := stream.round(ctx, params)
	if err != nil {
		return id
	}
	// The acknowledgement stands at the top or in the result of the answer.
	var ack struct {
		Boot   string `json:"boot_id"`
		Result struct {
			Boot string `json:"boot_id"`
		} `json:"result"`
	}
	if json.Unmarshal(line, &ack) == nil {
		id.boot = ack.Boot + ack.Result.Boot
	}
	return id
}
