// Package paths is the one place that names the files under .okstra. It is
// pure: it reads nothing, creates nothing and knows no file's content. Every
// path that it returns is absolute when Run.Root is.
package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// Folder is the name of okstra's folder in a project.
const Folder = ".okstra"

// ReportWriterBatch names the batch of the report-writer round.
const ReportWriterBatch = "report-writer"

// ReverifyBatch names the batch (and dispatch kind) of convergence round n.
func ReverifyBatch(n int) string { return fmt.Sprintf("reverify-r%d", n) }

// FirstBatch names the batch in which the workers of a round are dispatched
// first.
func FirstBatch(r *plan.Round) string {
	switch r.Kind {
	case plan.RoundReverify:
		return ReverifyBatch(1)
	case plan.RoundReportWriter:
		return ReportWriterBatch
	}
	return r.Name
}

// MaxStem is the longest stem in bytes: with every suffix it stays below the
// 255 bytes that a file name may have.
const MaxStem = 120

// Home returns the .okstra folder of a project.
func Home(root string) string { return filepath.Join(root, Folder) }

// TasksDir returns the folder of all recorded tasks.
func TasksDir(root string) string { return filepath.Join(root, Folder, "tasks") }

// TaskTypeDir returns the folder that holds all runs of one task and task type.
func TaskTypeDir(root string, task plan.Task, taskType string) string {
	return filepath.Join(TasksDir(root), task.Project, task.Group, task.ID, "runs", taskType)
}

// SeqLock returns the lock under which the next sequence number is chosen.
func SeqLock(root string, task plan.Task, taskType string) string {
	return filepath.Join(TaskTypeDir(root, task, taskType), "seq.lock")
}

// Run names the files of one run.
type Run struct {
	Root     string // project root, absolute
	Task     plan.Task
	TaskType string
	Seq      int
}

// Ref is the run's reference for machines: "project:group:id/task-type@seq".
func (r Run) Ref() string { return fmt.Sprintf("%s/%s@%03d", r.Task.Key(), r.TaskType, r.Seq) }

// Dir is the folder of all runs of this task and task type.
func (r Run) Dir() string { return TaskTypeDir(r.Root, r.Task, r.TaskType) }

func (r Run) tail() string { return fmt.Sprintf("%s-%03d", r.TaskType, r.Seq) }

// Manifest is the run manifest.
func (r Run) Manifest() string { return r.join("manifests", "run-manifest-"+r.tail()+".json") }

// Plan is the n-th plan of the run, from 1.
func (r Run) Plan(n int) string { return r.join("plans", fmt.Sprintf("plan-%s-p%d.json", r.tail(), n)) }

// TeamState is the run's state.
func (r Run) TeamState() string { return r.join("state", "team-state-"+r.tail()+".json") }

// InputsIndex lists what the workers of a batch are given.
func (r Run) InputsIndex(batch string) string {
	return r.join("state", "inputs-"+batch+"-"+r.tail()+".json")
}

// RoundPlan is the plan of convergence round n.
func (r Run) RoundPlan(n int) string {
	return r.join("state", fmt.Sprintf("round-plan-r%d-%s.json", n, r.tail()))
}

// ReverifyJobs is the jobs file of convergence round n.
func (r Run) ReverifyJobs(n int) string {
	return r.join("state", fmt.Sprintf("reverify-jobs-r%d-%s.json", n, r.tail()))
}

// ReportWriterJobs is the jobs file of the report-writer round.
func (r Run) ReportWriterJobs() string {
	return r.join("state", "report-writer-jobs-"+r.tail()+".json")
}

// Convergence is the convergence state artifact.
func (r Run) Convergence() string { return r.join("state", "convergence-"+r.tail()+".json") }

// Approval is the answer to the gate of a round.
func (r Run) Approval(round string) string {
	return r.join("state", "approval-"+round+"-"+r.tail()+".json")
}

// Narrative is what the report-writer writes, by attempt.
func (r Run) Narrative(attempt int) string {
	return r.join("reports", "narrative-"+r.tail()+suffix(attempt)+".md")
}

// FinalReport is the report record made from the narrative.
func (r Run) FinalReport() string { return r.join("reports", "final-report-"+r.tail()+".md") }

// Events is the lead's event log; EventsLock its short lock.
func (r Run) Events() string { return r.join("events", "lead-events-"+r.tail()+".jsonl") }

// EventsLock is held for each write to Events.
func (r Run) EventsLock() string { return r.join("events", "lead-events-"+r.tail()+".lock") }

// Lock is held for life by whoever drives the run.
func (r Run) Lock() string { return r.join("run-" + r.tail() + ".lock") }

// Stop is the request to stop, read before each start.
func (r Run) Stop() string { return r.join("run-" + r.tail() + ".stop") }

func (r Run) join(parts ...string) string {
	return filepath.Join(append([]string{r.Dir()}, parts...)...)
}

// Attempt names the files of one invocation: one start of one worker.
type Attempt struct {
	Run    Run
	Batch  string
	Stem   string // paths.Stem of the worker
	Number int    // from 1
	// Report is set for the report-writer, whose result is the narrative.
	Report bool
	// GivenPrompt and GivenResult are absolute paths that a run manifest of
	// version 1 brings with it; empty where the rules here name the files.
	GivenPrompt, GivenResult string
}

func suffix(attempt int) string {
	if attempt <= 1 {
		return ""
	}
	return fmt.Sprintf("-a%d", attempt)
}

// Prompt is the attempt's prompt; its companions are named after it.
func (a Attempt) Prompt() string {
	if a.GivenPrompt != "" {
		return a.GivenPrompt
	}
	return a.Run.join("prompts", a.Batch, a.Stem+"-"+a.Run.tail()+suffix(a.Number)+".md")
}

// Companions of the prompt.
func (a Attempt) Launch() string { return Companions(a.Prompt()).Launch() }
func (a Attempt) Env() string    { return Companions(a.Prompt()).Env() }
func (a Attempt) Status() string { return Companions(a.Prompt()).Status() }
func (a Attempt) Lock() string   { return Companions(a.Prompt()).Lock() }
func (a Attempt) Go() string     { return Companions(a.Prompt()).Go() }
func (a Attempt) Log() string    { return Companions(a.Prompt()).Log() }
func (a Attempt) ErrLog() string { return Companions(a.Prompt()).ErrLog() }
func (a Attempt) Screen() string { return Companions(a.Prompt()).Screen() }

// Companions names the files beside a prompt, whose path it is: for whoever
// knows an attempt by its record.
type Companions string

// OfStatus returns the companions that a status sidecar is one of.
func OfStatus(path string) Companions { return Companions(strings.TrimSuffix(path, statusSuffix)) }

const statusSuffix = ".status.json"

func (c Companions) Launch() string { return string(c) + ".launch.json" }
func (c Companions) Env() string    { return string(c) + ".env.json" }
func (c Companions) Status() string { return string(c) + statusSuffix }
func (c Companions) Lock() string   { return string(c) + ".lock" }
func (c Companions) Go() string     { return string(c) + ".go" }
func (c Companions) Log() string    { return string(c) + ".log" }
func (c Companions) ErrLog() string { return string(c) + ".err.log" }
func (c Companions) Screen() string { return string(c) + ".screen.txt" }

func (a Attempt) result(token, ext string) string {
	return a.Run.join("worker-results", a.Batch, a.Stem+token+a.Run.tail()+suffix(a.Number)+ext)
}

// WorkerResult is the file with the -worker- token: the result of a worker, or
// the pointer to the narrative of a report-writer.
func (a Attempt) WorkerResult() string {
	if a.GivenResult != "" {
		return a.GivenResult
	}
	return a.result("-worker-", ".md")
}

// Result is what the worker itself writes (OKSTRA_RESULT).
func (a Attempt) Result() string {
	if a.Report {
		return a.Run.Narrative(a.Number)
	}
	return a.WorkerResult()
}

// Audit is the audit sidecar.
func (a Attempt) Audit() string { return a.result("-worker-audit-", ".md") }

// Emit holds findings, verdicts or the verdict.
func (a Attempt) Emit() string { return a.result("-worker-emit-", ".json") }

// Output is a declared output.
func (a Attempt) Output(name string) string { return a.result("-worker-out-"+name+"-", "") }

// Stem returns the file stem "<role>.<duty>.<participant>[.<key>]".
func Stem(role, duty, participant string, eachKey *string) string {
	return role + "." + keyed(duty+"."+participant, eachKey)
}

// WorkerKey returns "<round>.<duty>.<participant>[.<key>]".
func WorkerKey(round, duty, participant string, eachKey *string) string {
	return round + "." + keyed(duty+"."+participant, eachKey)
}

// AssignmentRef returns "<round>/<duty>/<participant>[/<key, percent-encoded>]".
func AssignmentRef(round, duty, participant string, eachKey *string) string {
	ref := round + "/" + duty + "/" + participant
	if eachKey != nil {
		ref += "/" + percentEncode(*eachKey)
	}
	return ref
}

// InvocationRef returns "<assignmentRef>@<batch>#<attempt>".
func InvocationRef(assignmentRef, batch string, attempt int) string {
	return fmt.Sprintf("%s@%s#%d", assignmentRef, batch, attempt)
}

func keyed(base string, eachKey *string) string {
	if eachKey == nil {
		return base
	}
	return base + "." + KeySlug(*eachKey)
}

// KeySlug turns any for_each key into "<slug>-<8 hex of its sha256>".
func KeySlug(key string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(key) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
		} else if b.Len() > 0 && !strings.HasSuffix(b.String(), "-") {
			b.WriteByte('-')
		}
	}
	slug := b.String()
	if len(slug) > 24 {
		slug = slug[:24]
	}
	slug = strings.Trim(slug, "-")
	if slug == "" {
		slug = "key"
	}
	sum := sha256.Sum256([]byte(key))
	return slug + "-" + hex.EncodeToString(sum[:4])
}

func percentEncode(s string) string {
	const unreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(unreserved, s[i]) >= 0 {
			b.WriteByte(s[i])
			continue
		}
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}
