package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/record"
)

// attemptFiles names the files of one attempt of a worker in a batch.
func attemptFiles(run paths.Run, w *plan.Worker, batch string, attempt int) paths.Attempt {
	a := paths.Attempt{
		Run: run, Batch: batch, Stem: paths.Stem(w.Role, w.Duty, w.ParticipantRef, w.EachKey), Number: attempt,
		Report: batch == paths.ReportWriterBatch && w.Given == nil,
	}
	if g, ok := w.Given[plan.GivenKey(batch, attempt)]; ok {
		a.GivenPrompt, a.GivenResult = absolute(run.Root, g.Prompt), absolute(run.Root, g.Result)
	}
	return a
}

// companions names the files beside the prompt of a recorded attempt.
func companions(run paths.Run, d *record.Dispatch) paths.Companions {
	return paths.Companions(absolute(run.Root, d.PromptPath))
}

// promptText is the prompt of an attempt of a job: rendered or, where a version
// 1 manifest brings the prompt with it, what stands in its file.
func (s *session) promptText(j *job, a paths.Attempt, kind string) (string, error) {
	if a.GivenPrompt == "" {
		return Prompt(s.plan, j.round, j.worker, a, kind, j.extra), nil
	}
	b, err := os.ReadFile(a.GivenPrompt)
	if err != nil {
		return "", fmt.Errorf("read prompt: %w", err)
	}
	return string(b), nil
}

// filler replaces a template's references by the paths of one attempt. Text of
// the prompt is filled by the caller, who has it.
func filler(a paths.Attempt, promptText string) func(plan.Ref) string {
	return func(r plan.Ref) string {
		switch r {
		case plan.RefPromptPath:
			return a.Prompt()
		case plan.RefPromptText:
			return promptText
		case plan.RefPromptReference:
			return PromptReference(a.Prompt())
		case plan.RefResultPath:
			return a.Result()
		case plan.RefAuditPath:
			return a.Audit()
		case plan.RefEmitPath:
			return a.Emit()
		case plan.RefInputsIndex:
			return a.Run.InputsIndex(a.Batch)
		}
		if name, ok := r.OutputName(); ok {
			return a.Output(name)
		}
		panic("plan holds an unknown reference " + string(r))
	}
}

// PromptReference is the sentence that stands for a prompt where a worker CLI
// takes a text and the prompt is too long or too odd to be one.
func PromptReference(promptPath string) string {
	return fmt.Sprintf("Read the file %s and do exactly what it says.", promptPath)
}

// Prompt renders the prompt of one attempt: the header that okstra writes for
// every worker, then the duty's instructions, then extra (the items of a
// re-verification). The same arguments give the same bytes.
func Prompt(p *plan.Plan, r *plan.Round, w *plan.Worker, a paths.Attempt, kind, extra string) string {
	fill := filler(a, "")
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }

	line("# %s: %s", w.Label, w.Duty)
	line("")
	line("You are one worker of an okstra run. You work alone, in one session, once: nobody answers questions and nobody")
	line("reads your screen. What counts is what stands in the files named here when you end.")
	line("")
	line("## Who you are")
	line("")
	line("| | |")
	line("|---|---|")
	line("| run | %s (%s) |", p.Run.Name, a.Run.Ref())
	line("| task type | %s |", p.Run.TaskType)
	line("| round | %s (%s) |", r.Name, kind)
	line("| worker | %s |", w.Key)
	line("| invocation | %s |", paths.InvocationRef(w.AssignmentRef, a.Batch, a.Number))
	line("| role | %s, with %s access |", w.Role, w.Access)
	line("| folder | %s |", absolute(p.ProjectRoot, w.Dir))
	if w.RoleDescription != "" {
		line("")
		line("Your role: %s", w.RoleDescription)
	}
	line("")
	line("## What you deliver")
	line("")
	deliverables(line, w, a, extra != "")
	line("## What you are given")
	line("")
	line("The inputs of this round are listed in %s: results of earlier rounds with their authors, and declared files.", a.Run.InputsIndex(a.Batch))
	for _, in := range w.Inputs {
		line("- %s", absolute(p.ProjectRoot, in))
	}
	if p.Run.AfterReport != "" {
		line("")
		line("This run comes after %s, to mend what stands in its report. Read that first: %s", p.Run.After, absolute(p.ProjectRoot, p.Run.AfterReport))
	}
	line("")
	line("## What is allowed, and what is not")
	line("")
	if w.Access == plan.AccessRead {
		line("You have read access. Change nothing in the project: a change is found by comparing the tree and ends your work as a contract violation.")
	} else {
		line("You have write access to the project, for what your instructions ask and nothing else.")
	}
	list(line, "Allowed in this phase:", p.Run.Allowed)
	list(line, "Forbidden in this phase; doing any of it is a contract violation:", p.Run.Forbidden)
	line("")
	line("## Instructions")
	line("")
	b.WriteString(strings.TrimRight(w.Instructions.Fill(fill), "\n"))
	b.WriteString("\n")
	if extra != "" {
		b.WriteString("\n" + strings.TrimRight(extra, "\n") + "\n")
	}
	return b.String()
}

func list(line func(string, ...any), title string, items []string) {
	if len(items) == 0 {
		return
	}
	line("")
	line("%s", title)
	line("")
	for _, i := range items {
		line("- %s", i)
	}
}

// part is one thing that a worker delivers.
type part struct {
	name, path, what string
	required         bool
}

// deliverables lists what a worker delivers; with asked, the end of its prompt
// says what it is asked and how it answers.
func deliverables(line func(string, ...any), w *plan.Worker, a paths.Attempt, asked bool) {
	parts := []part{{"result", a.Result(), "your result, Markdown", true}}
	if w.Audit {
		parts = append(parts, part{"audit", a.Audit(), "your audit notes: one line for each input that you read to its end, the tools you used, what took long", true})
	}
	if w.Emits != plan.EmitsNone {
		form := emitForm(w.Emits)
		if asked && w.Emits == plan.EmitsVerdicts {
			form = `JSON of the form "okstra.verdicts/1", as "Your answer" at the end of this prompt describes it`
		}
		parts = append(parts, part{"emit", a.Emit(), form, true})
	}
	for _, o := range w.Outputs {
		what := o.Description
		if o.Schema != "" {
			what += " (JSON that fits the schema " + o.Schema + ")"
		}
		parts = append(parts, part{o.Name, a.Output(o.Name), strings.TrimSpace(what), o.Required})
	}
	if w.Result == plan.ResultFile {
		line("Write each of these files, whole, before you end. None of them exists yet.")
		line("")
		for _, p := range parts {
			optional := ""
			if !p.required {
				optional = " (optional)"
			}
			line("- `%s`: %s%s", p.path, p.what, optional)
		}
		line("")
		return
	}
	line("You cannot write files. Your final message is your delivery: okstra writes the files from it.")
	if len(parts) == 1 {
		line("All of it becomes %s.", a.Result())
		line("")
		return
	}
	line("Give it in this form: first %s; then, for each further part, a line `=== okstra:NAME ===` alone, and its text.", parts[0].what)
	line("")
	for _, p := range parts[1:] {
		optional := ""
		if !p.required {
			optional = " (optional)"
		}
		line("- `=== okstra:%s ===`: %s%s", p.name, p.what, optional)
	}
	line("")
}

func emitForm(e plan.Emits) string {
	switch e {
	case plan.EmitsFindings:
		return `JSON: {"format":"okstra.findings/1","findings":[{"id":"F1","title":"…","severity":"critical|major|minor|info","location":"path:line","claim":"…","evidence":"…"}]}; an empty list where you found nothing`
	case plan.EmitsVerdicts:
		return `JSON: {"format":"okstra.verdicts/1","verdicts":[{"finding":"<full id as given>","verdict":"agree|disagree|supplement","basis":"…","note":"…"}]}; one for every item that you were given`
	case plan.EmitsVerdict:
		return `JSON: {"format":"okstra.verdict/1","verdict":"accepted|conditional-accept|blocked","blockers":[{"title":"…","detail":"…"}],"routing":"…"}; accepted only with no blockers`
	}
	return ""
}

// absolute resolves a plan's path, which is relative to the project root where
// it lies inside it.
func absolute(root, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}

// relative is the opposite of absolute, for records.
func relative(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}
