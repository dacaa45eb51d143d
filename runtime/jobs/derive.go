package jobs

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/record"
)

// Invocation is one start of one worker as derived from the plan: what every
// way of dispatching agrees on.
type Invocation struct {
	Ref     string // invocationRef
	Batch   string
	Kind    Kind
	Attempt int
	Files   paths.Attempt
}

// Derive names an invocation and its files.
func Derive(run paths.Run, round *plan.Round, w *plan.Worker, batch string, attempt int) Invocation {
	return Invocation{
		Ref:     paths.InvocationRef(w.AssignmentRef, batch, attempt),
		Batch:   batch,
		Kind:    KindOf(batch, attempt),
		Attempt: attempt,
		Files: paths.Attempt{
			Run: run, Batch: batch, Number: attempt, Report: round.Kind == plan.RoundReportWriter,
			Stem: paths.Stem(w.Role, w.Duty, w.ParticipantRef, w.EachKey),
		},
	}
}

// batchOf is the batch that a kind means for a worker's round. A retry stays
// in the batch of the attempt before; the error says why a kind does not fit.
func batchOf(kind Kind, round *plan.Round, w *plan.Worker, dispatches []*record.Dispatch) (string, error) {
	n, reverify := kind.Reverify()
	switch {
	case kind == KindRetry:
		last := latest(w.Key, dispatches)
		if last == nil {
			return "", fmt.Errorf("nothing is recorded of %s that could be retried", w.Key)
		}
		return last.Batch, nil
	case reverify && round.Kind == plan.RoundReverify:
		return paths.ReverifyBatch(n), nil
	case kind == KindReportWriter && round.Kind == plan.RoundReportWriter:
		return paths.ReportWriterBatch, nil
	case kind == KindInitial && round.Kind == plan.RoundWork:
		return round.Name, nil
	}
	return "", fmt.Errorf("the kind %s does not fit a worker of the %s round %q", kind, round.Kind, round.Name)
}

// nextAttempt is the attempt that a kind means in a batch. One that was
// recorded as not-run has never been, and is meant again.
func nextAttempt(kind Kind, key, batch string, dispatches []*record.Dispatch) int {
	if kind != KindRetry {
		return 1
	}
	highest, ran := 0, true
	for _, d := range dispatches {
		if keyOf(d) == key && d.Batch == batch && d.Attempt >= highest {
			highest, ran = d.Attempt, d.Status != plan.StatusNotRun
		}
	}
	if !ran {
		return highest
	}
	return highest + 1
}

func latest(key string, dispatches []*record.Dispatch) *record.Dispatch {
	for i := len(dispatches) - 1; i >= 0; i-- {
		if keyOf(dispatches[i]) == key {
			return dispatches[i]
		}
	}
	return nil
}

func keyOf(d *record.Dispatch) string {
	if d.WorkerKey != "" {
		return d.WorkerKey
	}
	return d.WorkerID
}

// workerToken stands in the name of every worker result.
const workerToken = "-worker-"

// AuditPath derives the audit sidecar from a result path: the same name with
// "audit-" after the token. It is empty for a path without the token.
func AuditPath(resultPath string) string { return besideResult(resultPath, "audit-", "") }

// EmitPath derives the emit file from a result path of a version 1 worker.
func EmitPath(resultPath string) string { return besideResult(resultPath, "emit-", ".json") }

func besideResult(resultPath, insert, ext string) string {
	dir, name := filepath.Split(resultPath)
	i := strings.LastIndex(name, workerToken)
	if i < 0 {
		return ""
	}
	i += len(workerToken)
	name = name[:i] + insert + name[i:]
	if ext != "" {
		name = strings.TrimSuffix(name, filepath.Ext(name)) + ext
	}
	return dir + name
}
