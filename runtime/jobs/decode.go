package jobs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// entry is one decoded worker of a jobs file with the places of its fields.
type entry struct {
	index  int
	offset int
	fields map[string]*node

	workerID         string
	participantRef   string
	roleExecutionRef string
	assignmentRef    string
	executionLabel   string
	dutyID           string
	invocationRef    string
	attempt          int
	provider         string
	promptPath       string
	workerResultPath string
	role             string
	digests          map[string]*node
}

// name is how a message calls the entry.
func (e *entry) name() string {
	id := e.workerID
	if e.invocationRef != "" {
		id = e.invocationRef
	} else if e.assignmentRef != "" {
		id = e.assignmentRef
	}
	if id == "" {
		return fmt.Sprintf("workers[%d]", e.index)
	}
	return fmt.Sprintf("workers[%d] (%s)", e.index, printable(id))
}

// Fields of an entry, by identity version. The advisory ones may stand in
// both and are not read.
var (
	requiredV1 = []string{"workerId", "provider", "promptPath", "workerResultPath"}
	requiredV2 = []string{
		"participantRef", "roleExecutionRef", "assignmentRef", "executionLabel", "dutyId", "invocationRef", "attempt",
		"provider", "promptPath", "workerResultPath", "role", "digests",
	}
	onlyV2   = []string{"participantRef", "roleExecutionRef", "assignmentRef", "executionLabel", "dutyId", "invocationRef", "attempt", "digests"}
	advisory = []string{"resultPath", "completionPaths"}

	digestNames = []string{"catalogDigest", "assignmentDigest", "dutyDigest", "instructionDigest", "promptDigest"}
)

const (
	mixing          = "mixing v1 and v2 identity"
	noToken         = "worker result path has no canonical -worker- token"
	authority       = "jobs file v2 identity does not match role execution authority"
	alreadyRecorded = "is recorded already"
)

// file is a decoded jobs file: everything that could be made of it, and what
// is wrong.
type file struct {
	src      []byte
	name     string
	kind     Kind
	kindAt   int
	entries  []*entry
	problems []problem
}

type problem struct {
	offset int
	text   string
}

func (f *file) add(offset int, format string, args ...any) {
	f.problems = append(f.problems, problem{offset, fmt.Sprintf(format, args...)})
}

// decode takes a jobs file for manifests of an identity version.
func decode(src []byte, name string, identity int) *file {
	f := &file{src: src, name: name}
	root, serr := parse(src)
	if serr != nil {
		f.add(serr.offset, "%s", serr.problem)
		return f
	}
	members, ok := root.value.([]member)
	if !ok {
		f.add(root.offset, "a jobs file is an object with dispatchKind and workers, not %s", root.literal)
		return f
	}
	var workers *node
	for _, m := range members {
		switch m.key {
		case "dispatchKind":
			f.kindAt = m.value.offset
			text, ok := m.value.value.(string)
			if !ok {
				f.add(m.value.offset, "dispatchKind is %s; it is a string", m.value.literal)
				continue
			}
			kind, err := ParseKind(text)
			if err != nil {
				f.add(m.value.offset, "dispatchKind: %s", err)
				continue
			}
			f.kind = kind
		case "workers":
			workers = m.value
		case "jobs":
			f.add(m.offset, "the array is called workers, not jobs")
		default:
			f.add(m.offset, "unknown key %q; a jobs file has dispatchKind and workers", m.key)
		}
	}
	if !slices.ContainsFunc(members, func(m member) bool { return m.key == "dispatchKind" }) {
		f.add(root.offset, "dispatchKind is missing")
	}
	if workers == nil {
		f.add(root.offset, "the array workers is missing")
		return f
	}
	list, ok := workers.value.([]*node)
	switch {
	case !ok:
		f.add(workers.offset, "workers is %s; it is a list of entries", workers.literal)
	case len(list) == 0:
		f.add(workers.offset, "workers is empty")
	}
	for i, n := range list {
		f.entry(i, n, identity)
	}
	return f
}

func (f *file) entry(index int, n *node, identity int) {
	members, ok := n.value.([]member)
	if !ok {
		f.add(n.offset, "workers[%d] is %s; an entry is an object", index, n.literal)
		return
	}
	e := &entry{index: index, offset: n.offset, fields: map[string]*node{}, digests: map[string]*node{}}
	for _, m := range members {
		e.fields[m.key] = m.value
	}
	f.entries = append(f.entries, e)
	// Identity first: it names the entry in every later message.
	for _, t := range []struct {
		key  string
		into *string
	}{
		{"workerId", &e.workerID}, {"assignmentRef", &e.assignmentRef}, {"invocationRef", &e.invocationRef},
		{"participantRef", &e.participantRef}, {"roleExecutionRef", &e.roleExecutionRef}, {"executionLabel", &e.executionLabel},
		{"dutyId", &e.dutyID}, {"provider", &e.provider}, {"promptPath", &e.promptPath},
		{"workerResultPath", &e.workerResultPath}, {"role", &e.role},
	} {
		if v := e.fields[t.key]; v != nil {
			*t.into, _ = v.value.(string)
		}
	}

	if !f.version(e, identity) {
		return
	}
	required := requiredV1
	known := append([]string{"role"}, requiredV1...)
	if identity == 2 {
		required, known = requiredV2, requiredV2
	}
	for _, m := range members {
		if !slices.Contains(known, m.key) && !slices.Contains(advisory, m.key) {
			f.add(m.offset, "%s: unknown key %q", e.name(), m.key)
		}
	}
	for _, key := range required {
		if v, ok := e.fields[key]; !ok {
			f.add(e.offset, "%s: %s is missing", e.name(), key)
		} else if key != "attempt" && key != "digests" {
			f.text(e, key, v)
		}
	}
	if v := e.fields["role"]; v != nil && identity == 1 {
		f.text(e, "role", v)
	}
	if identity == 2 {
		f.attempt(e)
		f.digestObject(e)
	}
}

// version checks that the entry's identity version is the manifest's.
func (f *file) version(e *entry, identity int) bool {
	id := e.fields["workerId"]
	var v2 []string
	for _, key := range onlyV2 {
		if e.fields[key] != nil {
			v2 = append(v2, key)
		}
	}
	switch {
	case id != nil && len(v2) > 0:
		f.add(id.offset, "%s: workerId beside %s: %s", e.name(), v2[0], mixing)
	case id != nil && identity == 2:
		f.add(id.offset, "%s: workerId names a version 1 worker, but the run manifest has identity version 2: %s", e.name(), mixing)
	case id == nil && len(v2) > 0 && identity == 1:
		f.add(e.fields[v2[0]].offset, "%s: %s belongs to version 2, but the run manifest has identity version 1: %s", e.name(), v2[0], mixing)
	default:
		return true
	}
	return false
}

func (f *file) text(e *entry, key string, v *node) {
	s, ok := v.value.(string)
	switch {
	case !ok:
		f.add(v.offset, "%s: %s is %s; it is a string", e.name(), key, v.literal)
	case s == "":
		f.add(v.offset, "%s: %s is empty", e.name(), key)
	}
}

func (f *file) attempt(e *entry) {
	v := e.fields["attempt"]
	if v == nil {
		return
	}
	num, ok := v.value.(json.Number)
	n, err := strconv.Atoi(string(num))
	if !ok || err != nil || n < 1 {
		f.add(v.offset, "%s: attempt is %s; it is a positive integer", e.name(), v.literal)
		return
	}
	e.attempt = n
}

func (f *file) digestObject(e *entry) {
	v := e.fields["digests"]
	if v == nil {
		return
	}
	members, ok := v.value.([]member)
	if !ok {
		f.add(v.offset, "%s: digests is %s; it is an object", e.name(), v.literal)
		return
	}
	for _, m := range members {
		if !slices.Contains(digestNames, m.key) {
			f.add(m.offset, "%s: unknown digest %q", e.name(), m.key)
			continue
		}
		if s, ok := m.value.value.(string); !ok || s == "" {
			f.add(m.value.offset, "%s: %s is %s; it is a digest", e.name(), m.key, m.value.literal)
			continue
		}
		e.digests[m.key] = m.value
	}
	for _, name := range digestNames {
		if !slices.ContainsFunc(members, func(m member) bool { return m.key == name }) {
			f.add(v.offset, "%s: digests has no %s", e.name(), name)
		}
	}
}

// refusal gathers the problems in source order.
func (f *file) refusal() *Refusal {
	if len(f.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(f.problems, func(a, b problem) int { return a.offset - b.offset })
	r := &Refusal{Remedy: "correct the jobs file, or leave it out and name the workers with --workers"}
	if _, reverify := f.kind.Reverify(); reverify {
		// Judges are not named one by one: their round plan says who they are.
		r.Remedy = "correct the jobs file, or leave it out: the one that okstra team await wrote is then taken"
	}
	for _, p := range f.problems {
		line, column := position(f.src, p.offset)
		r.Moved = append(r.Moved, fmt.Sprintf("%s:%d:%d: %s", f.name, line, column, p.text))
	}
	r.What = fmt.Sprintf("the jobs file is refused: %s", f.headline())
	if more := len(f.problems) - 1; more > 0 {
		r.What += fmt.Sprintf(" (and %d more)", more)
	}
	return r
}

// headline is the problem that a refusal begins with: one of those that decide
// how the others are to be read, else the first.
func (f *file) headline() string {
	for _, p := range f.problems {
		for _, text := range []string{mixing, noToken, authority} {
			if strings.Contains(p.text, text) {
				return p.text
			}
		}
	}
	return f.problems[0].text
}

// printable quotes what a file said where it is not plain text.
func printable(s string) string {
	const most = 200
	if len(s) > most {
		s = s[:most] + "…"
	}
	q := strconv.Quote(s)
	if q == `"`+s+`"` {
		return s
	}
	return q
}
