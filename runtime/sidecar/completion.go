package sidecar

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/launch"
)

// Found is what is on disk at one completion path.
type Found struct {
	Name    string // as in Artifact
	Path    string
	Exists  bool
	Regular bool // a file proper: no link, no folder
	Size    int64
	Digest  string // "sha256:<hex>", where Regular
	Problem string // why it could not be read; empty where it could
	Invalid string // what its schema says against it; empty where nothing
}

// Completed is the completion rule, whole (contract section 6): it derives the
// record status of an attempt from its terminal sidecar and from what is on
// disk at every completion path. overlapped names other workers and writers
// that ran at the same time, which makes a changed tree no proof.
//
// A sidecar that is not terminal gives StatusRunning; nil gives StatusSpawning.
func Completed(s *Status, found []Found, overlapped []string) (plan.Status, plan.Reason, string) {
	if s == nil {
		return plan.StatusSpawning, plan.ReasonNone, "no sidecar was written"
	}
	if !s.Stage.Terminal() {
		return plan.StatusRunning, plan.ReasonNone, fmt.Sprintf("the sidecar is at stage %q", s.Stage)
	}
	status, reason, detail := s.ended(found)
	// Whoever ended a worker from outside was at work then, and may be who
	// changed the tree.
	interfered := reason == plan.ReasonCancelled || reason == plan.ReasonPaneLost
	if c := s.Changed; c != nil && len(c.Paths) > 0 && len(c.Suspects) == 0 && len(overlapped) == 0 && !interfered {
		changed := "changed while it ran alone, without write access: " + list(c.Paths)
		if status != plan.StatusCompleted {
			changed += fmt.Sprintf(" (by itself it would be %s/%s: %s)", status, reason, detail)
		}
		return because(plan.ReasonWroteOutside, changed)
	}
	return status, reason, detail
}

// ended is the completion rule but for a changed tree.
func (s *Status) ended(found []Found) (plan.Status, plan.Reason, string) {
	if s.Stage == StageTimeout {
		reason := plan.ReasonWallLimit
		if s.Timeout.Limit == LimitIdle {
			reason = plan.ReasonIdleLimit
		}
		reached := fmt.Sprintf("the %s limit of %s was reached", s.Timeout.Limit, s.Timeout.After)
		// What the provider refused until the limit is why it was reached.
		if status, ok := plan.StatusOf(s.Reason); ok && status == plan.StatusError {
			return because(s.Reason, with(s.Detail, reached))
		}
		return because(reason, reached)
	}
	if s.Reason != plan.ReasonNone {
		detail := s.Detail
		switch {
		case detail != "":
		case s.Reason == plan.ReasonCancelled:
			detail = "it was asked to end"
		case s.Reason == plan.ReasonPaneLost:
			detail = "its pane was closed while it ran"
		case *s.ExitCode != 0:
			detail = fmt.Sprintf("the worker ended with exit code %d", *s.ExitCode)
		}
		return because(s.Reason, detail)
	}
	if s.Signal != "" {
		return because(plan.ReasonSignal, with("the worker was ended by "+s.Signal, s.Detail))
	}
	if *s.ExitCode != 0 {
		return because(plan.ReasonExitNonzero, with(fmt.Sprintf("the worker ended with exit code %d", *s.ExitCode), s.Detail))
	}
	for _, f := range found {
		if reason, detail := s.objection(f); reason != plan.ReasonNone {
			return because(reason, with(detail, s.Detail))
		}
	}
	return plan.StatusCompleted, plan.ReasonNone, ""
}

// objection says what speaks against one completion path.
func (s *Status) objection(f Found) (plan.Reason, string) {
	switch {
	case f.Problem != "":
		return plan.ReasonInvalidResult, fmt.Sprintf("%s cannot be read: %s", f.Name, f.Problem)
	case !f.Exists:
		return plan.ReasonNoResult, fmt.Sprintf("%s was not written: %s", f.Name, f.Path)
	case !f.Regular:
		return plan.ReasonInvalidResult, fmt.Sprintf("%s is not a regular file: %s", f.Name, f.Path)
	case f.Size == 0:
		return plan.ReasonNoResult, fmt.Sprintf("%s is empty: %s", f.Name, f.Path)
	}
	a := s.Artifact(f.Name)
	switch {
	case a == nil:
		return plan.ReasonInvalidResult, fmt.Sprintf("%s appeared after the worker had ended: %s", f.Name, f.Path)
	case a.Digest != f.Digest:
		return plan.ReasonInvalidResult, fmt.Sprintf("%s was changed after the worker had ended: %s", f.Name, f.Path)
	case f.Invalid != "":
		return plan.ReasonInvalidResult, fmt.Sprintf("%s: %s", f.Name, f.Invalid)
	}
	return plan.ReasonNone, ""
}

// Artifact returns the artifact of a name, or nil.
func (s *Status) Artifact(name string) *Artifact {
	for i := range s.Artifacts {
		if s.Artifacts[i].Name == name {
			return &s.Artifacts[i]
		}
	}
	return nil
}

func because(r plan.Reason, detail string) (plan.Status, plan.Reason, string) {
	status, ok := plan.StatusOf(r)
	if !ok {
		panic(fmt.Sprintf("reason %q belongs to no status", r))
	}
	return status, r, detail
}

func with(rule, detail string) string {
	if detail == "" {
		return rule
	}
	return rule + ": " + detail
}

func list(names []string) string {
	const shown = 5
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// Validate checks a document against a schema. The schema is the name of one
// of okstra's own ("findings", "verdicts", "verdict") or the absolute path of a
// JSON Schema file.
type Validate func(schema string, doc []byte) error

// maxDocument bounds what is read whole for its schema, in bytes.
const maxDocument = 64 << 20

// Gather looks at every completion path of an attempt. validate may be nil:
// schemas are then not looked at.
func Gather(r *launch.Record, validate Validate) []Found {
	schemas := map[string]string{"emit": string(r.Emits)}
	for _, o := range r.Outputs {
		schemas["out:"+o.Name] = o.Schema
	}
	var out []Found
	for _, c := range r.CompletionPaths() {
		f := Look(c)
		schema := schemas[c.Name]
		if validate != nil && schema != "" && f.Regular && f.Size > 0 && f.Problem == "" {
			f.Invalid = invalid(f, schema, validate)
		}
		out = append(out, f)
	}
	return out
}

// Look looks at one completion path and digests it.
func Look(c launch.CompletionPath) Found {
	f := Found{Name: c.Name, Path: c.Path}
	info, err := os.Lstat(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return f
	}
	if err != nil {
		f.Problem = err.Error()
		return f
	}
	f.Exists, f.Regular, f.Size = true, info.Mode().IsRegular(), info.Size()
	if !f.Regular {
		return f
	}
	file, err := os.OpenFile(c.Path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		f.Problem = err.Error()
		return f
	}
	defer file.Close()
	h := sha256.New()
	if f.Size, err = io.Copy(h, file); err != nil {
		f.Problem = err.Error()
		return f
	}
	f.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
	return f
}

func invalid(f Found, schema string, validate Validate) string {
	if f.Size > maxDocument {
		return fmt.Sprintf("it has %d bytes; a document with a schema has at most %d", f.Size, maxDocument)
	}
	doc, err := os.ReadFile(f.Path)
	if err != nil {
		return err.Error()
	}
	if err := validate(schema, doc); err != nil {
		return err.Error()
	}
	return ""
}
