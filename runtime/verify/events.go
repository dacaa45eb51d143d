package verify

import (
	"fmt"
	"strconv"
	"time"

	"github.com/okstra/okstra/lang/plan"
	"github.com/okstra/okstra/runtime/lead"
)

// events holds the log against the record: nothing torn or skipped, nothing
// missing, nothing that the record does not know.
func (v *verifier) events() {
	log := v.rel(v.run.Events())
	events, defects, err := lead.Scan(v.run.Events())
	if err != nil {
		v.add(log, "events", "readable", problem(err))
		return
	}
	v.out.Events = len(events)
	for _, d := range defects {
		v.add(log, "events", "whole lines, numbered without a gap", d)
	}
	for _, e := range lead.Missing(events, lead.Expected(v.state, v.plan)) {
		subject := e.InvocationRef
		if subject == "" {
			subject = log
		}
		v.add(subject, "event "+string(e.Type), "expected"+about(e), "missing")
	}
	last := map[string]lead.Event{}
	var before lead.Event // the engine's event before
	for _, e := range events {
		where := fmt.Sprintf("%s#%d", log, e.Seq)
		if e.Serial > v.state.Serial {
			v.add(where, "serial", strconv.FormatInt(v.state.Serial, 10)+" is the state's", strconv.FormatInt(e.Serial, 10))
		}
		if e.Serial > 0 {
			if e.TS.Add(clockSlack).Before(before.TS) {
				v.add(where, "ts", "not before "+before.TS.Format(time.RFC3339Nano), e.TS.Format(time.RFC3339Nano))
			}
			before = e
			v.wording(where, e)
		}
		if e.InvocationRef == "" {
			continue
		}
		if !v.seen[e.InvocationRef] && e.Type != lead.LeadActivity && e.Type != lead.LeadError {
			v.add(where, "event "+string(e.Type), "no record of "+e.InvocationRef, "an event about it")
		}
		if e.Type == lead.WorkerSettled {
			last[e.InvocationRef] = e
		}
	}
	for _, d := range v.state.WorkerDispatches {
		e, ok := last[d.InvocationRef]
		if !ok || !d.Status.Terminal() || d.Reason == plan.ReasonForbiddenAction {
			continue
		}
		said := status(plan.Status(e.Text(lead.DataStatus)), plan.Reason(e.Text(lead.DataReason)))
		v.compare(d.InvocationRef, "event worker-settled", status(d.Status, d.Reason), said)
	}
}

// clockSlack is how far a clock that was set may go back between two events.
const clockSlack = time.Minute

// wording holds the message of an event of the engine against its other fields.
func (v *verifier) wording(where string, e lead.Event) {
	label := ""
	if e.InvocationRef != "" {
		d := v.state.Invocation(e.InvocationRef)
		if d == nil {
			return // said already
		}
		label = d.ExecutionLabel
	}
	if want, known := e.Wording(v.run.Ref(), label, v.state.Ended); known {
		v.compare(where, "message", want, e.Message)
	}
}

func about(e lead.Event) string {
	if e.Round == "" {
		return ""
	}
	return " for round " + e.Round
}

// reported tells whether the lead reported a forbidden action of an invocation.
func (v *verifier) reported(ref string) bool {
	events, err := lead.Read(v.run.Events())
	if err != nil {
		return false // said by events
	}
	for _, e := range events {
		if e.Type == lead.ForbiddenAction && e.InvocationRef == ref {
			return true
		}
	}
	return false
}
