package sidecar

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/durable"
)

// MaxSize bounds a sidecar in bytes.
const MaxSize = 1 << 20

// Read reads a sidecar. A missing one is os.ErrNotExist; one that is not whole
// is an error that names it, never "not finished".
func Read(path string) (*Status, error) {
	s, _, err := ReadDigest(path)
	return s, err
}

// ReadDigest is Read; it returns the digest of the sidecar's bytes as well.
func ReadDigest(path string) (*Status, string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, "", fmt.Errorf("read sidecar: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, "", fmt.Errorf("read sidecar: %w", err)
	}
	s, err := Decode(b)
	if err != nil {
		return nil, "", fmt.Errorf("read sidecar %s: %w", path, err)
	}
	return s, plan.DigestBytes(b), nil
}

// Decode reads a sidecar's bytes. Members that a later okstra added are passed
// over; a stage, a reason or a terminal form that cannot be is an error.
func Decode(b []byte) (*Status, error) {
	if len(b) > MaxSize {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxSize)
	}
	var s Status
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(&s); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more after the JSON value")
	}
	if err := s.check(); err != nil {
		return nil, err
	}
	return &s, nil
}

// Encode returns the bytes of a sidecar. One that Decode would refuse is a
// programmer's fault and panics.
func (s *Status) Encode() []byte {
	if err := s.check(); err != nil {
		panic(fmt.Sprintf("encode sidecar: %v", err))
	}
	b, err := plan.Indented(s)
	if err != nil {
		panic(fmt.Sprintf("encode sidecar: %v", err))
	}
	return b
}

// Write replaces the sidecar at path. Only its supervisor may.
func Write(path string, s *Status) error { return durable.WriteFile(path, s.Encode(), 0o600) }

func (s *Status) check() error {
	switch s.Stage {
	case StageInit, StageStart:
		if s.FinishedAt != nil || s.ExitCode != nil {
			return fmt.Errorf("stage %q has an end", s.Stage)
		}
	case StageFinish:
		if s.FinishedAt == nil || s.ExitCode == nil {
			return errors.New(`stage "finish" without finishedAt or exit_code`)
		}
	case StageTimeout:
		if s.FinishedAt == nil || s.Timeout == nil {
			return errors.New(`stage "timeout" without finishedAt or timeout`)
		}
		if s.Timeout.Limit != LimitWall && s.Timeout.Limit != LimitIdle {
			return fmt.Errorf("unknown limit %q", s.Timeout.Limit)
		}
	default:
		return fmt.Errorf("unknown stage %q", s.Stage)
	}
	if s.SchemaVersion != SchemaVersion {
		return fmt.Errorf("schemaVersion is %q; this okstra reads %q", s.SchemaVersion, SchemaVersion)
	}
	if s.Claim == "" {
		return errors.New("no claim")
	}
	if s.Reason != plan.ReasonNone {
		if _, ok := plan.StatusOf(s.Reason); !ok {
			return fmt.Errorf("unknown reason %q", s.Reason)
		}
	}
	return nil
}
