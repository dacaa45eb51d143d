package jobs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/lead"
	"github.com/okstra/okstra/runtime/record"
)

// TaskImplementation is the task type whose phases have an order.
const TaskImplementation = "implementation"

// Member is a worker as phase order sees it.
type Member struct {
	Key   string // worker key, or workerId in version 1
	Label string
	Role  string
	Round int // place of its round in the run; 0 for all in version 1
}

// MemberOf is a worker of a plan's round.
func MemberOf(r *plan.Round, w *plan.Worker) Member { return Member{w.Key, w.Label, w.Role, r.Index} }

// Roster lists the workers of a plan.
func Roster(p *plan.Plan) []Member {
	var out []Member
	for i := range p.Rounds {
		for j := range p.Rounds[i].Workers {
			out = append(out, MemberOf(&p.Rounds[i], &p.Rounds[i].Workers[j]))
		}
	}
	return out
}

// RosterV1 lists the workers of a version 1 manifest.
func RosterV1(m *lead.Manifest) []Member {
	out := make([]Member, len(m.Workers))
	for i, w := range m.Workers {
		out[i] = Member{Key: w.WorkerID, Label: w.WorkerID, Role: w.Role}
	}
	return out
}

// Statuses are those of the workers' latest invocations. What a later plan set
// aside does not count.
func Statuses(dispatches []*record.Dispatch) map[string]plan.Status {
	out := map[string]plan.Status{}
	for _, d := range dispatches {
		if d.Superseded != "" {
			continue
		}
		key := d.WorkerKey
		if key == "" {
			key = d.WorkerID
		}
		out[key] = d.Status
	}
	return out
}

// PhaseOrder refuses a batch that breaks the order of an implementation: the
// executor alone, then, once it has completed, its verifiers. A verifier that
// runs beside the executor, or before it has completed, reads the base and not
// the executor's diff. It is judged before every other rule, and the same for
// a roster, a jobs file and a dry run.
//
// One batch that holds both is refused in every task type; that every executor
// of the rounds before has completed is asked for where the task type is
// TaskImplementation.
func PhaseOrder(taskType string, roster, batch []Member, statuses map[string]plan.Status) *Refusal {
	executors := withRole(batch, lead.RoleExecutor)
	verifiers := withRole(batch, lead.RoleVerifier)
	if len(verifiers) == 0 {
		return nil
	}
	if len(executors) > 0 {
		return bothInOne(executors, verifiers, statuses)
	}
	open := unexecuted(taskType, roster, verifiers, statuses)
	if len(open) == 0 {
		return nil
	}
	return &Refusal{
		What:   fmt.Sprintf("implementation phase order: %s cannot start before %s has completed", keys(verifiers), keys(open)),
		Moved:  []string{"leave out " + keys(verifiers)},
		Remedy: executorFirst(open, statuses),
	}
}

// Unexecuted are the executors that keep a round from beginning, whatever its
// after and their round's require say: a round of verifiers waits until every
// executor before it has completed.
func Unexecuted(p *plan.Plan, r *plan.Round, dispatches []*record.Dispatch) []string {
	if p.Run.TaskType != TaskImplementation || !hasRole(r, lead.RoleVerifier) {
		return nil // what runs with thousands of workers need not be asked
	}
	var verifiers []Member
	for i := range r.Workers {
		if r.Workers[i].Role == lead.RoleVerifier {
			verifiers = append(verifiers, MemberOf(r, &r.Workers[i]))
		}
	}
	return keyList(unexecuted(p.Run.TaskType, Roster(p), verifiers, Statuses(dispatches)))
}

// Wanted tells whether verifiers wait for an executor of a round: it is to be
// tried again then, though the round met its require without it.
func Wanted(p *plan.Plan, round string, dispatches []*record.Dispatch) bool {
	r := p.Round(round)
	if r == nil || !hasRole(r, lead.RoleExecutor) {
		return false
	}
	for i := range p.Rounds {
		for _, key := range Unexecuted(p, &p.Rounds[i], dispatches) {
			if slices.ContainsFunc(r.Workers, func(w plan.Worker) bool { return w.Key == key }) {
				return true
			}
		}
	}
	return false
}

func hasRole(r *plan.Round, role string) bool {
	return slices.ContainsFunc(r.Workers, func(w plan.Worker) bool { return w.Role == role })
}

// unexecuted are the executors that must complete before the verifiers start
// and have not.
func unexecuted(taskType string, roster, verifiers []Member, statuses map[string]plan.Status) []Member {
	if taskType != TaskImplementation || len(verifiers) == 0 {
		return nil
	}
	var open []Member
	last := slices.MaxFunc(verifiers, func(a, b Member) int { return a.Round - b.Round }).Round
	for _, m := range withRole(roster, lead.RoleExecutor) {
		if m.Round <= last && statuses[m.Key] != plan.StatusCompleted {
			open = append(open, m)
		}
	}
	return open
}

// executorFirst says what brings the executors to completion.
func executorFirst(open []Member, statuses map[string]plan.Status) string {
	waiting, kind := slices.Clone(open), ""
	waiting = slices.DeleteFunc(waiting, func(m Member) bool {
		s := statuses[m.Key]
		return s == plan.StatusPlanned || s == plan.StatusSpawning || s == plan.StatusRunning
	})
	if len(waiting) == 0 {
		return fmt.Sprintf("%s is on its way: await it, then dispatch the verifiers", keys(open))
	}
	if !slices.ContainsFunc(waiting, func(m Member) bool { s := statuses[m.Key]; return s == "" || s == plan.StatusNotRun }) {
		kind = "--dispatch-kind retry " // each has an ended attempt
	}
	return fmt.Sprintf("dispatch %s alone (`%s--workers %s`), await it, then dispatch the verifiers", keys(waiting), kind, strings.Join(keyList(waiting), ","))
}

func bothInOne(executors, verifiers []Member, statuses map[string]plan.Status) *Refusal {
	done := !slices.ContainsFunc(executors, func(m Member) bool { return statuses[m.Key] != plan.StatusCompleted })
	if done {
		return &Refusal{
			What:   fmt.Sprintf("implementation phase order: the verifiers' batch still holds the executor %s, which has completed", keys(executors)),
			Moved:  []string{"leave out " + keys(executors)},
			Remedy: fmt.Sprintf("dispatch the verifiers alone (`--workers %s`)", strings.Join(keyList(verifiers), ",")),
		}
	}
	return &Refusal{
		What:   fmt.Sprintf("implementation phase order: one batch holds the executor %s and the verifiers %s", keys(executors), keys(verifiers)),
		Moved:  []string{"leave out " + keys(verifiers)},
		Remedy: executorFirst(executors, statuses),
	}
}

func withRole(members []Member, role string) []Member {
	var out []Member
	for _, m := range members {
		if m.Role == role {
			out = append(out, m)
		}
	}
	return out
}

func keyList(members []Member) []string {
	out := make([]string, len(members))
	for i, m := range members {
		out[i] = m.Key
	}
	slices.Sort(out)
	return out
}

func keys(members []Member) string { return strings.Join(keyList(members), ", ") }
