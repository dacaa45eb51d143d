package converge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/okstra/okstra/lang/plan"
)

// Formats of the documents that workers write.
const (
	FindingsFormat = "okstra.findings/1"
	VerdictsFormat = "okstra.verdicts/1"
	VerdictFormat  = "okstra.verdict/1"
)

// Severity of a finding. The zero value is invalid.
type Severity string

const (
	Critical Severity = "critical"
	Major    Severity = "major"
	Minor    Severity = "minor"
	Info     Severity = "info"
)

// Severities lists every severity, the worst first.
var Severities = []Severity{Critical, Major, Minor, Info}

// Findings is what an analyst emits.
type Findings struct {
	Format   string    `json:"format"`
	Findings []Finding `json:"findings"`
}

// Finding is one claim of an analyst. Its ID is unique in its document; its
// full id is FullID(worker key, ID).
type Finding struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Severity Severity `json:"severity"`
	Location string   `json:"location"`
	Claim    string   `json:"claim"`
	Evidence string   `json:"evidence"`
}

// FullID is the name of a finding outside its document.
func FullID(worker, id string) string { return worker + "/" + id }

// Ruling is what a judge says of a finding. The zero value is invalid.
type Ruling string

const (
	Agree      Ruling = "agree"
	Disagree   Ruling = "disagree"
	Supplement Ruling = "supplement"
	// Missing is recorded where a judge that was asked said nothing. No judge
	// can write it.
	Missing Ruling = "missing"
)

// Verdicts is what a judge emits.
type Verdicts struct {
	Format   string    `json:"format"`
	Verdicts []Verdict `json:"verdicts"`
	// Candidates are a critic's: what it found missing in the whole.
	Candidates []Finding `json:"candidates,omitempty"`
}

// Verdict is a judge's ruling on one finding, named by its full id.
type Verdict struct {
	Finding string `json:"finding"`
	Verdict Ruling `json:"verdict"`
	Basis   string `json:"basis"`
	Note    string `json:"note,omitempty"`
}

// Token is the verdict on the whole work. The zero value is invalid.
type Token string

const (
	Accepted          Token = "accepted"
	ConditionalAccept Token = "conditional-accept"
	Blocked           Token = "blocked"
)

// Tokens lists every verdict token, from the best to the worst.
var Tokens = []Token{Accepted, ConditionalAccept, Blocked}

// WorkVerdict is what a verifier emits on the whole work.
type WorkVerdict struct {
	Format   string    `json:"format"`
	Verdict  Token     `json:"verdict"`
	Blockers []Blocker `json:"blockers"`
	Routing  string    `json:"routing,omitempty"`
}

// Blocker is what stands in the way of accepting the work.
type Blocker struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

var findingID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
})

// ParseFindings decodes an analyst's document. The error names every place.
func ParseFindings(doc []byte) (*Findings, error) {
	out := new(Findings)
	if err := decode(doc, out); err != nil {
		return nil, err
	}
	var errs places
	errs.format(out.Format, FindingsFormat)
	if out.Findings == nil {
		errs.add("/findings", "missing; an empty list says that nothing was found")
	}
	errs.findings("/findings", out.Findings)
	return out, errs.join()
}

// ParseVerdicts decodes a judge's document. The error names every place.
// Whether a judge was asked about what it ruled on is Judge's concern.
func ParseVerdicts(doc []byte) (*Verdicts, error) {
	out := new(Verdicts)
	if err := decode(doc, out); err != nil {
		return nil, err
	}
	var errs places
	errs.format(out.Format, VerdictsFormat)
	if out.Verdicts == nil {
		errs.add("/verdicts", "missing; a critic writes an empty list")
	}
	seen := map[string]int{}
	for i, v := range out.Verdicts {
		at := fmt.Sprintf("/verdicts/%d", i)
		if v.Finding == "" {
			errs.add(at+"/finding", "names no finding")
		} else if first, ok := seen[v.Finding]; ok {
			errs.add(at+"/finding", fmt.Sprintf("%q has a verdict already at /verdicts/%d", v.Finding, first))
		} else {
			seen[v.Finding] = i
		}
		switch v.Verdict {
		case Agree, Disagree:
		case Supplement:
			if strings.TrimSpace(v.Note) == "" {
				errs.add(at+"/note", "a supplement says in note what it adds")
			}
		default:
			errs.add(at+"/verdict", fmt.Sprintf("%q is not agree, disagree or supplement", v.Verdict))
		}
		errs.filled(at+"/basis", v.Basis)
	}
	errs.findings("/candidates", out.Candidates)
	return out, errs.join()
}

// ParseWorkVerdict decodes a verifier's document. The error names every place.
func ParseWorkVerdict(doc []byte) (*WorkVerdict, error) {
	out := new(WorkVerdict)
	if err := decode(doc, out); err != nil {
		return nil, err
	}
	var errs places
	errs.format(out.Format, VerdictFormat)
	if !slices.Contains(Tokens, out.Verdict) {
		errs.add("/verdict", fmt.Sprintf("%q is not accepted, conditional-accept or blocked", out.Verdict))
	}
	if out.Verdict == Accepted && len(out.Blockers) > 0 {
		errs.add("/blockers", "accepted needs zero blockers")
	}
	if (out.Verdict == Blocked || out.Verdict == ConditionalAccept) && len(out.Blockers) == 0 {
		errs.add("/blockers", fmt.Sprintf("%s says what stands in the way", out.Verdict))
	}
	for i, b := range out.Blockers {
		errs.filled(fmt.Sprintf("/blockers/%d/title", i), b.Title)
		errs.filled(fmt.Sprintf("/blockers/%d/detail", i), b.Detail)
	}
	return out, errs.join()
}

// Check is the semantic check of an emitted document of any kind, beyond its
// JSON Schema: unique ids, one verdict for each finding, blockers that fit.
func Check(kind plan.Emits, doc []byte) error {
	var err error
	switch kind {
	case plan.EmitsFindings:
		_, err = ParseFindings(doc)
	case plan.EmitsVerdicts:
		_, err = ParseVerdicts(doc)
	case plan.EmitsVerdict:
		_, err = ParseWorkVerdict(doc)
	default:
		panic("converge: no document of kind " + string(kind))
	}
	return err
}

// decode takes one JSON value; keys that are not ours are let through, since
// workers are models.
func decode(doc []byte, into any) error {
	if len(bytes.TrimSpace(doc)) == 0 {
		return errors.New("not the expected JSON: it is empty")
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("not the expected JSON: %s: %w", faultAt(doc, err), err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: something follows the JSON value", position(doc, dec.InputOffset()))
	}
	return nil
}

// faultAt is where a document stops being what it should be.
func faultAt(doc []byte, err error) string {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return position(doc, syntax.Offset-1)
	case errors.As(err, &kind):
		return position(doc, kind.Offset-1)
	}
	return position(doc, int64(len(bytes.TrimRight(doc, " \t\r\n")))) // it ends in the middle
}

// position turns an offset into line and column, both from 1.
func position(doc []byte, offset int64) string {
	before := doc[:min(max(offset, 0), int64(len(doc)))]
	return fmt.Sprintf("line %d, column %d", bytes.Count(before, []byte{'\n'})+1, len(before)-bytes.LastIndexByte(before, '\n'))
}

// unknownKeys names, by their places, the keys of a round plan that no round
// plan has.
func unknownKeys(doc []byte) error {
	var top map[string]json.RawMessage
	if err := json.Unmarshal(doc, &top); err != nil {
		return fmt.Errorf("not the expected JSON: %w", err)
	}
	var errs places
	errs.unknown("", top, reflect.TypeFor[RoundPlan]())
	var judges []map[string]json.RawMessage
	if json.Unmarshal(top["judges"], &judges) == nil {
		for i, j := range judges {
			errs.unknown(fmt.Sprintf("/judges/%d", i), j, reflect.TypeFor[JudgeItems]())
		}
	}
	return errs.join()
}

// unknown adds the keys of an object that the type has no field for.
func (p *places) unknown(pointer string, object map[string]json.RawMessage, of reflect.Type) {
	var known []string
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		known = append(known, name)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		if !slices.Contains(known, key) {
			p.add(pointer+"/"+key, "is unknown; there are "+strings.Join(known, ", "))
		}
	}
}

// places collects what is wrong, each with its JSON pointer.
type places []error

// maxPlaces bounds one error's length.
const maxPlaces = 20

func (p *places) add(pointer, problem string) {
	*p = append(*p, fmt.Errorf("%s: %s", pointer, problem))
}

func (p *places) format(got, want string) {
	if got != want {
		p.add("/format", fmt.Sprintf("%q where %q is expected", got, want))
	}
}

func (p *places) filled(pointer, text string) {
	if strings.TrimSpace(text) == "" {
		p.add(pointer, "is empty")
	}
}

func (p *places) findings(pointer string, list []Finding) {
	seen := map[string]int{}
	for i, f := range list {
		at := fmt.Sprintf("%s/%d", pointer, i)
		if !findingID().MatchString(f.ID) {
			p.add(at+"/id", fmt.Sprintf("%q is not an id: letters, digits, dots, dashes and underscores, at most 64", f.ID))
		} else if first, ok := seen[f.ID]; ok {
			p.add(at+"/id", fmt.Sprintf("%q is taken by %s/%d", f.ID, pointer, first))
		} else {
			seen[f.ID] = i
		}
		if !slices.Contains(Severities, f.Severity) {
			p.add(at+"/severity", fmt.Sprintf("%q is not critical, major, minor or info", f.Severity))
		}
		p.filled(at+"/title", f.Title)
		p.filled(at+"/claim", f.Claim)
		p.filled(at+"/evidence", f.Evidence)
	}
}

func (p places) join() error {
	if len(p) == 0 {
		return nil
	}
	if more := len(p) - maxPlaces; more > 0 {
		p = append(p[:maxPlaces:maxPlaces], fmt.Errorf("and %d more", more))
	}
	return errors.Join(p...)
}
