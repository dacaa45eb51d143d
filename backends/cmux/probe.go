package cmux

import (
	"context"
	"errors"
	"fmt"

	"github.com/Masterminds/semver/v3"

	"github.com/okstra/okstra/backends"
)

// Probe implements backends.Backend: cmux can be used where the caller stands
// in one of its surfaces, the server answers, and its version is known to work.
func (b *Backend) Probe(ctx context.Context) backends.Probe {
	at := b.where()
	if !at.inside {
		return backends.Probe{Found: at.why, Hint: "start the lead in a terminal of cmux"}
	}
	version, line, versionErr := b.probeVersion(ctx)
	s, a, err := b.anchor(ctx)
	if err != nil {
		return b.unavailable(err, versionErr)
	}
	defer s.Close()
	if version != nil && version.LessThan(oldest) {
		return backends.Probe{
			Found: fmt.Sprintf("%s is older than %s", line, oldest),
			Hint:  "update cmux",
		}
	}
	if line == "" {
		line = "cmux of an unknown version"
	}
	var c struct {
		Mode string `json:"access_mode"`
	}
	access := ""
	if err := s.call(ctx, "system.capabilities", struct{}{}, &c); err == nil && c.Mode != "" {
		access = ", access " + printable(c.Mode)
	}
	return backends.Probe{
		Available: true,
		Found:     fmt.Sprintf("%s at %s%s; the lead is surface %s of workspace %s", line, a.socket, access, a.surface, a.workspace),
	}
}

// probeVersion returns the version of the cmux program, nil where none was
// found. The socket is what counts, so a missing program is no fault.
func (b *Backend) probeVersion(ctx context.Context) (*semver.Version, string, error) {
	program := b.findProgram()
	if program == "" {
		return nil, "", nil
	}
	return b.version(ctx, program)
}

// unavailable says what is in the way and what the user can do about it.
func (b *Backend) unavailable(err, versionErr error) backends.Probe {
	p := backends.Probe{Found: err.Error()}
	switch {
	case errors.Is(err, errDenied) && b.password() == "":
		p.Hint = "in cmux's Settings, Automation, let other processes of this user use the socket (mode automation); in password mode set CMUX_SOCKET_PASSWORD"
	case errors.Is(err, errDenied):
		p.Hint = "check CMUX_SOCKET_PASSWORD against cmux's Settings, Automation, or use the mode automation there"
	case errors.Is(err, errNoCaller):
		p.Hint = "run okstra from the terminal itself: cmux was restarted, or a wrapper took its variables out of the environment"
	case errors.Is(err, errLost):
		p.Hint = "cmux is there and does not answer in time; wait for it, or restart it"
	case versionErr != nil:
		p.Found += "; " + versionErr.Error()
		p.Hint = "start cmux (the terminal of manaflow-ai/cmux), and see that its command comes first on PATH"
	default:
		p.Hint = "start cmux, and switch its socket on in Settings, Automation"
	}
	return p
}
