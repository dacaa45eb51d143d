package runtime

import (
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/lang/plan/paths"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// following writes the commands that go on from here. Each is whole: it holds the
// flags that the run was applied with, since another definition or another
// value of a variable is other work.
type following struct {
	run paths.Run
	st  *record.State
	// lead is set for a lead's commands, which hold the run's place: they work
	// from every folder and with no definition.
	lead bool
}

// operand names the run for apply and plan, which have the definition; its
// number stands there only where it is not the latest.
func (n following) operand() string {
	if n.latest() {
		return n.st.RunName
	}
	return n.numbered()
}

// selector names the recorded run for every other verb: by its whole reference
// where another task has a run of the same name.
func (n following) selector() string {
	if !ambiguous(n.run, n.st.RunName) {
		return n.operand()
	}
	if n.latest() {
		return strings.TrimSuffix(n.run.Ref(), fmt.Sprintf("@%03d", n.run.Seq))
	}
	return n.run.Ref()
}

func (n following) latest() bool {
	latest, err := latestSeq(n.run)
	return err != nil || latest <= n.run.Seq
}

func (n following) numbered() string { return fmt.Sprintf("%s@%03d", n.st.RunName, n.run.Seq) }

// apply is the command that goes on with the run.
func (n following) apply(more ...string) string {
	if n.lead {
		return teamCommand("await", n.run)
	}
	words := []string{n.operand()}
	if len(n.st.Again) > 0 {
		words = append([]string{}, n.st.Again...)
		if words[0] == n.st.RunName || strings.HasPrefix(words[0], n.st.RunName+"@") {
			words[0] = n.operand()
		}
	}
	return command(append(append([]string{"apply"}, more...), words...)...)
}

// plan is the command that shows a further run of the same definition.
func (n following) plan(more ...string) string {
	words := []string{n.st.RunName}
	if len(n.st.Again) > 0 && n.st.Again[0] == n.st.RunName {
		words = n.st.Again
	} else {
		words = append(words, n.place()...)
	}
	return command(append(append([]string{"plan"}, more...), words...)...)
}

// verb is a command on the recorded run, for which only its place matters.
func (n following) verb(name string, more ...string) string {
	words := append([]string{name, n.selector()}, more...)
	return command(append(words, n.place()...)...)
}

// answers are the commands that answer the gate of a round: one for each
// choice, and the one that denies it.
func (n following) answers(r *plan.Round) []string {
	var out []string
	for _, c := range r.Gate.Choices {
		out = append(out, n.verb("approve", r.Name, "--choice", c))
	}
	if len(out) == 0 {
		out = append(out, n.verb("approve", r.Name))
	}
	return append(out, n.verb("approve", r.Name, "--deny"))
}

// place are those of the run's flags that say where it is.
func (n following) place() []string {
	if n.lead {
		return []string{"--project-root", n.run.Root}
	}
	var out []string
	for i := 1; i+1 < len(n.st.Again); i += 2 {
		switch n.st.Again[i] {
		case "-C", "--project-root":
			out = append(out, n.st.Again[i], n.st.Again[i+1])
		case "-f":
			// It tells verbs that read records where the project is.
			out = append(out, n.st.Again[i], n.st.Again[i+1])
		}
	}
	return out
}

func command(words ...string) string {
	out := []string{"okstra"}
	for _, w := range words {
		out = append(out, lead.Quote(w))
	}
	return strings.Join(out, " ")
}

func (s *session) next() following { return following{s.run, s.state, s.manifest != nil} }

// whyCommands explain the workers that did not complete; a few are enough to
// begin with.
func (s *session) whyCommands() []string {
	var out []string
	for _, d := range s.notCompleted() {
		if d.Status == plan.StatusNotRun {
			continue // it is explained by another
		}
		if out = append(out, s.next().verb("why", d.WorkerKey)); len(out) == 3 {
			break
		}
	}
	return out
}
