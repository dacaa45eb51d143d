package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"

	"github.com/spf13/afero"

	"github.com/okstra/okstra/cmd/okstra/view"
	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/providers"
	"github.com/okstra/okstra/runtime/providers/host"
)

// workerFindings looks at every worker CLI. With probe it gives each that was
// found a tiny job; unproven tells that one of these was not completed.
func (s *session) workerFindings(ctx context.Context, root string, probe bool) (found []view.Finding, unproven bool, err error) {
	ended := s.endSoon(ctx) // nothing is started yet that would have to be ended
	clis, definition, err := s.knownCLIs()
	ended()
	if err != nil {
		return nil, false, err
	}
	looked := make([]lookedAt, len(clis))
	var all sync.WaitGroup
	for i, c := range clis {
		all.Go(func() { looked[i] = s.look(ctx, root, c) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	var jobs []string
	for _, l := range looked {
		// Any other program may do anything; only a CLI is asked a question.
		if l.problem == "" && !l.open && host.Known(l.cli.command[0]) {
			jobs = append(jobs, l.cli.provider)
		}
	}
	var probes map[string]*view.Probe
	if probe && len(jobs) > 0 {
		if probes, err = s.probe(ctx, definition, jobs); err != nil {
			return nil, false, fmt.Errorf("probe the worker CLIs: %w", err)
		}
	}
	for _, l := range looked {
		p := probes[l.cli.provider]
		unproven = unproven || p != nil && p.Status != plan.StatusCompleted
		found = append(found, l.finding(p))
	}
	return found, unproven, nil
}

// lookedAt is what is known of a CLI without running more of it than its
// version command.
type lookedAt struct {
	cli     workerCLI
	problem string // why it cannot be run at all; empty where it can
	absent  bool   // there is no such program
	open    bool   // which program it is cannot be told
	remedy  string
	found   string // version and path
	report  host.Report
}

func (s *session) look(ctx context.Context, root string, c workerCLI) lookedAt {
	l := lookedAt{cli: c}
	if len(c.command) == 0 {
		l.open, l.found = true, "which program it starts depends on the worker, and no run has one of it"
		return l
	}
	program := c.command[0]
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		program = filepath.Join(root, program)
	}
	p := lookProgram(s.env, program)
	if p.Problem != "" {
		l.problem, l.absent = p.Problem, true
		l.remedy = p.Remedy
		if !strings.Contains(program, "/") {
			l.remedy = fmt.Sprintf("install %s, or give provider %q another command in an override block", c.command[0], c.provider)
		}
		return l
	}
	l.found = p.Path
	l.report = host.Look(s.host(), host.CLI{Program: p.Path, Command: c.command, Env: c.env, Folder: root})
	if len(c.version) == 0 {
		return l
	}
	version, err := versionOf(ctx, s.env, root, c.version)
	switch {
	case errors.Is(err, errNoAnswer):
		l.found += "; it did not tell its version within " + versionTimeout.String()
		return l
	case err != nil:
		l.problem = err.Error()
		l.remedy = "run it by hand: it does not tell its version, so it would not run a worker either"
		return l
	}
	l.found = version + " at " + p.Path
	return l
}

// finding puts what is known of a CLI together. A job proves more than files
// do: after one that was completed, what they said against it is left out.
func (l lookedAt) finding(p *view.Probe) view.Finding {
	f := view.Finding{Area: "worker", Name: l.cli.provider, State: view.StateOK, Found: l.found, Probe: p}
	proven := p != nil && p.Status == plan.StatusCompleted
	var do []string
	if l.report.SignIn != "" {
		f.Found += "; " + l.report.SignIn
	}
	for _, t := range l.report.Troubles {
		if t.Fatal && proven {
			continue
		}
		if t.Fatal {
			f.State = view.StateAttention
		}
		f.Found += "; " + t.What
		do = append(do, t.Do)
	}
	switch {
	case l.open:
		f.State = view.StateOpen
	case l.problem != "":
		f.State, f.Found = view.StateAttention, l.problem
		if l.absent && l.cli.use != useWanted {
			f.State = view.StateAbsent
		}
		if len(do) == 0 {
			do = []string{l.remedy}
		}
	case p != nil && !proven:
		// What the files say against it explains a missing login and silence.
		if f.State == view.StateOK || p.Reason != plan.ReasonAuth && p.Status != plan.StatusTimeout {
			do = append(do, probeRemedy(p, l.cli.provider))
		}
		f.State = view.StateAttention
	}
	if l.cli.use == useNone {
		f.Area = "not used"
	}
	f.Do = strings.Join(do, "; ")
	return f
}

// probeRemedy says what to do about a job that failed.
func probeRemedy(p *view.Probe, provider string) string {
	if p.Status == plan.StatusTimeout {
		return "run it by hand: it does not answer, and does not say why"
	}
	// The job reads, and a reader hands its result over as its final message.
	return providers.HintFor(providers.Ended{Reason: p.Reason, Provider: provider, Result: plan.ResultStdout, Detail: p.Detail})
}

// host is this machine, as workers that we start would find it.
func (s *session) host() host.Host {
	return host.Host{
		Fs:     afero.NewReadOnlyFs(afero.NewOsFs()),
		Getenv: s.env.getenv,
		Find:   func(program string) string { return lookProgram(s.env, program).Path },
		UID:    os.Geteuid(),
		OS:     goruntime.GOOS,
	}
}
