package lang

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/okstra/okstra/lang/plan"
)

// knobs is a definition with a mark "#block" wherever an attribute can be
// added. TestAttributes turns one attribute at a time.
const knobs = `
okstra {
  #okstra
  panes {
    #okstra panes
  }
}
#top
variable "v" {
  #variable
  default = "5"
  validation {
    condition     = var.v != ""
    error_message = "v is empty."
  }
}
locals {
  given = "as before" #locals
}
provider "p" {
  command = ["prog"]
  models  = { big = "big-1" }
  #provider
  access "read" {
    #access
  }
}
participant "ada" {
  provider = provider.p
  #participant
}
participant "bert" {
  provider = provider.q
}
provider "q" {
  command = ["other"]
}
role "looker" {
  #role
}
role "writer" {
  access = "write"
}
duty "look" {
  instructions = "Look at ${var.v}, ${local.given}, ${param.area}."
  role         = role.looker
  emits        = "findings"
  #duty
  parameter "area" {
    default = "all"
    #parameter
  }
  output "table" {
    #output
  }
}
duty "again" {
  role         = role.verifier
  instructions = "Judge."
  emits        = "verdicts"
}
duty "more" {
  instructions = "More."
}
run "base" {
  task = { id = "base-1" }
  budget = { dispatches = 500 }
  round "a" {
    assign {
      duty = duty.more
      to   = provider.q
    }
  }
}
duty "edit" {
  role         = role.writer
  instructions = "Edit."
}
run "w" {
  task = { id = "w" }
  round "x" {
    assign {
      duty = duty.edit
      to   = provider.q
    }
  }
}
run "r" {
  #run
  panes {
    #run panes
  }
  lead {
    #lead
  }
  round "a" {
    #a
    assign {
      duty = duty.look
      to   = [participant.ada, participant.bert]
      #assign
    }
  }
  round "b" {
    kind = "reverify"
    convergence {
      #convergence
    }
    assign {
      duty = duty.again
      to   = participant.bert
    }
  }
  round "c" {
    #c
    gate {
      #gate
    }
    assign {
      duty = duty.more
      to   = participant.bert
      #last
    }
  }
}
`

// turn replaces old, which stands once in knobs, and says what must be at a
// place then that was not there before. A place is a path in {plan, runs,
// default, said}; said is the text of all diagnostics, and want a piece of it.
type turn struct {
	old, new, at, want string
	more               map[string]string // further files
	run                string
}

func change(old, new, at, want string) turn {
	return turn{old: old, new: new, at: at, want: want, run: "r"}
}

// with puts a file beside the definition, before and after.
func (t turn) with(name, text string) turn { t.more = map[string]string{name: text}; return t }

// of looks at another run.
func (t turn) of(run string) turn { t.run = run; return t }

// turns are keyed by block and attribute, "/" before the key of an object.
func turns() map[string]turn {
	const worker = "plan.rounds.0.workers.0."
	t := map[string]turn{
		"okstra required_version": change("#okstra\n", "required_version = \"> 99\"\n", "said", "This definition needs okstra > 99"),
		"okstra default_run":      change("#okstra\n", "default_run = run.r\n", "default", `"r"`),
		"okstra project":          change("#okstra\n", "project = \"shop\"\n", "plan.run.task.project", `"shop"`),
		"okstra group":            change("#okstra\n", "group = \"auth\"\n", "plan.run.task.group", `"auth"`),

		"import source": change("#top", "import {\n  source = \"lib\"\n}\noverride \"duty\" \"lib\" {\n  audit = true\n}", "plan.overrides", `[{"attributes":["audit"],"declared":{"column":1,"file":"okstra.hcl","line":11},"kind":"duty","name":"lib"}]`).with("lib/a.hcl", "duty \"lib\" {\n  instructions = \"Lib.\"\n}\n"),

		"variable type":                       change("#variable", "type = number", "plan.variables.0.value", "5"),
		"variable default":                    change(`default = "5"`, `default = "6"`, "plan.variables.0.value", `"6"`),
		"variable description":                change(`default = "5"`, `description = "How many."`, "said", "How many."),
		"variable sensitive":                  change("#variable", "sensitive = true", "said", "Sensitive value outside env"),
		"variable > validation condition":     change(`var.v != ""`, `var.v != "5"`, "said", "v is empty."),
		"variable > validation error_message": change("condition     = var.v != \"\"\n    error_message = \"v is empty.\"", "condition     = var.v != \"5\"\n    error_message = \"Not five.\"", "said", "Not five."),

		"provider extends":         change("command = [\"prog\"]", "extends = provider.q", worker+"argv.0", `"other"`),
		"provider command":         change(`["prog"]`, `["prog2", "x"]`, worker+"argv", `["prog2","x"]`),
		"provider args":            change("#provider", `args = ["-a"]`, worker+"argv", `["prog","-a"]`),
		"provider model_args":      change("#provider", "model = \"big\"\n  model_args = [\"-m\", worker.model]", worker+"argv", `["prog","-m","big-1"]`),
		"provider prompt":          change("#provider", `prompt = "stdin"`, worker+"prompt", `"stdin"`),
		"provider result":          change("#provider", `result = "stdout"`, worker+"result", `"stdout"`),
		"provider output":          change("#provider", `output = "codex-json"`, worker+"output", `"codex-json"`),
		"provider model":           change("#provider", `model = "small"`, worker+"model", `"small"`),
		"provider models":          change("models  = { big = \"big-1\" }\n  #provider", "models = { big = \"big-2\" }\n  model = \"big\"", worker+"model", `"big-2"`),
		"provider env":             change("#provider", `env = { A = "1", B = null }`, worker+"env", `[{"name":"A","value":"1"}]`),
		"provider unset_env":       change("#provider", `unset_env = ["A"]`, worker+"unsetEnv", `["A"]`),
		"provider exit_codes":      change("#provider", `exit_codes = { "3" = "auth" }`, worker+"exitCodes", `{"3":"auth"}`),
		"provider version_command": change("#provider", `version_command = ["prog", "-v"]`, "providers.p.VersionCommand", `["prog","-v"]`),
		"provider worst/tokens":    change("#provider", `worst = { tokens = 9 }`, worker+"worst", `{"tokens":9}`),
		"provider worst/usd":       change("#provider", `worst = { usd = 0.5 }`, worker+"worst", `{"usd":0.5}`),

		"provider > access args":   change("#access", "args = [\"--ro\"]\n    result = \"file\"", worker+"argv", `["prog","--ro"]`),
		"provider > access env":    change("#access", `env = { RO = "1" }`, worker+"env", `[{"name":"RO","value":"1"}]`),
		"provider > access result": change("#access", `result = "stdout"`, worker+"result", `"stdout"`),

		"participant provider": change("provider = provider.p", "provider = provider.q", worker+"provider", `"q"`),
		"participant model":    change("#participant", `model = "big"`, worker+"model", `"big-1"`),
		"participant args":     change("#participant", `args = ["-x"]`, worker+"argv", `["prog","-x"]`),
		"participant env":      change("#participant", `env = { X = "1" }`, worker+"env", `[{"name":"X","value":"1"}]`),

		"role access":      change("#role", `access = "write"`, "said", `in the role "looker", which has write access`),
		"role description": change("#role", `description = "Looks."`, worker+"roleDescription", `"Looks."`),

		"duty instructions": change(`"Judge."`, `"Weigh."`, "plan.rounds.1.workers.0.instructions", `"Weigh."`),
		"duty role":         change("role         = role.looker", "role = role.verifier", worker+"role", `"verifier"`),
		"duty inputs":       change("#duty", `inputs = ["README.md"]`, worker+"inputs", `["README.md"]`),
		"duty emits":        change(`emits        = "findings"`, "", "said", "no earlier round has a duty with emits"),
		"duty audit":        change("#duty", "audit = true", worker+"audit", "true"),

		"duty > parameter type":    change("#parameter", "type = number", "said", "number"),
		"duty > parameter default": change(`default = "all"`, `default = "east"`, worker+"instructions", `"Look at 5, as before, east."`),

		"duty > output description": change("#output", `description = "A table."`, worker+"outputs", `[{"description":"A table.","name":"table","required":true}]`),
		"duty > output schema":      change("#output", `schema = "table.json"`, worker+"outputs.0.schema", `"table.json"`).with("table.json", "{}"),
		"duty > output required":    change("#output", "required = false", worker+"outputs.0.required", "false"),

		"task_type allowed":        change("#top", "override \"task_type\" \"unknown\" {\n  allowed = [\"Look.\"]\n}", "plan.run.allowed", `["Look."]`),
		"task_type forbidden":      change("#top", "override \"task_type\" \"unknown\" {\n  forbidden = [\"Sing.\"]\n}", "plan.run.forbidden.-1", `"Sing."`),
		"task_type next":           change("#top", "override \"task_type\" \"unknown\" {\n  next = [\"implementation\"]\n}", "plan.run.next", `["implementation"]`),
		"task_type writers":        change("#top", "override \"task_type\" \"unknown\" {\n  writers = []\n}", "said", "no role may change the project").of("w"),
		"task_type required_roles": change("#top", "override \"task_type\" \"unknown\" {\n  required_roles = [\"critic\"]\n}", "said", `whole with the role "critic"`),

		"run extends":           change("#run\n", "extends = run.base\n  task = { id = \"other\" }\n", "plan.run.budget", `{"dispatches":500}`),
		"run description":       change("#run\n", "description = \"What it is for.\"\n", "plan.run.description", `"What it is for."`),
		"run task_type":         change("#run\n", "task_type = task_type.error-analysis\n", "plan.run.taskType", `"error-analysis"`),
		"run task/project":      change("#run\n", "task = { project = \"shop\" }\n", "plan.run.task.project", `"shop"`),
		"run task/group":        change("#run\n", "task = { group = \"auth\" }\n", "plan.run.task.group", `"auth"`),
		"run task/id":           change("#run\n", "task = { id = \"A-1\" }\n", "plan.run.task.id", `"A-1"`),
		"run backend":           change("#run\n", "backend = [backend.process]\n", "plan.run.backend", `["process"]`),
		"run parallelism":       change("#run\n", "parallelism = 3\n", "plan.run.parallelism", "3"),
		"run dir":               change("#run\n", "dir = \"sub\"\n", worker+"dir", `"sub"`).with("sub/x", ""),
		"run fingerprint":       change("#run\n", "fingerprint = [var.v]\n", "plan.run.fingerprint", `["5"]`),
		"run budget/dispatches": change("#run\n", "budget = { dispatches = 3 }\n", "plan.run.budget", `{"dispatches":3}`),
		"run budget/wall":       change("#run\n", "budget = { wall = \"2h\" }\n", "plan.run.budget", `{"wall":"2h0m0s"}`),
		"run budget/tokens":     change("#run\n", "budget = { tokens = 3 }\n", "said", "reports no tokens"),
		"run budget/usd":        change("#run\n", "budget = { usd = 3 }\n", "said", "reports no cost"),

		"run > lead runtime":      change("#lead", `runtime = "codex"`, "plan.run.lead.runtime", `"codex"`),
		"run > lead instructions": change("#lead", `instructions = "For ${task.id}."`, "plan.run.lead.instructions", `"For r."`),
		"run > lead inputs":       change("#lead", `inputs = ["README.md"]`, "plan.run.lead.inputs", `["README.md"]`),

		"panes title": change("#run panes", `title = "T ${worker.participant}"`, worker+"title", `"T ada"`),

		"run > round kind":        change("#c\n", "kind = \"report-writer\"\n", "plan.rounds.2.kind", `"report-writer"`),
		"run > round after":       change("#c\n", "after = [\"a\"]\n", "plan.rounds.2.after", `["a"]`),
		"run > round require":     change("#a\n", "require = \"50%\"\n", "plan.rounds.0.require", `{"percent":50}`),
		"run > round parallelism": change("#a\n", "parallelism = 1\n", "plan.rounds.0.parallelism", "1"),
		"run > round dir":         change("#a\n", "dir = \"sub\"\n", worker+"dir", `"sub"`).with("sub/x", ""),

		"round > assign duty":     change("duty = duty.again", "duty = duty.look", "said", "does not emit verdicts"),
		"round > assign to":       change("to   = [participant.ada, participant.bert]", "to = [participant.bert, participant.ada]", worker+"participantRef", `"bert"`),
		"round > assign for_each": change("#assign", `for_each = ["b", "a"]`, worker+"eachKey", `"a"`),
		"round > assign with":     change("#assign", `with = { area = "west" }`, worker+"instructions", `"Look at 5, as before, west."`),
		"round > assign inputs":   change("#assign", `inputs = ["README.md"]`, worker+"inputs", `["README.md"]`),
		"round > assign dir":      change("#assign", `dir = "sub"`, worker+"dir", `"sub"`).with("sub/x", ""),

		"round > gate reason":  change("#gate", `reason = "Read it."`, "plan.rounds.2.gate.reason", `"Read it."`),
		"round > gate choices": change("#gate", `choices = ["go", "stop"]`, "plan.rounds.2.gate.choices", `["go","stop"]`),
	}
	for attr, setting := range map[string][2]string{
		"enabled": {"false", "false"}, "max_rounds": {"3", "3"}, "mode": {`"full-reanalysis"`, `"full-reanalysis"`},
		"adversarial": {"true", "true"}, "critic": {"true", "true"}, "source": {`"lead"`, `"lead"`},
	} {
		t["round > convergence "+attr] = change("#convergence", attr+" = "+setting[0], "plan.rounds.1.convergence."+camel(attr), setting[1])
	}
	for attr, setting := range map[string][2]string{
		"placement": {`"window"`, `"window"`}, "layout": {`"rows"`, `"rows"`}, "lead_share": {"50", "50"}, "min_columns": {"30", "30"},
		"min_rows": {"5", "5"}, "per_window": {"2", "2"}, "keep": {`"never"`, `"never"`},
	} {
		t["panes "+attr] = change("#run panes", attr+" = "+setting[0], "plan.run.panes."+camel(attr), setting[1])
	}
	// timeout and retry stand in six blocks each.
	for block, mark := range map[string]string{
		"okstra": "#okstra\n", "run": "#run\n", "provider": "#provider\n", "participant": "#participant\n", "duty": "#duty\n", "round > assign": "#assign\n",
	} {
		for _, key := range []string{"start", "wall", "idle", "grace"} {
			t[block+" timeout/"+key] = change(mark, fmt.Sprintf("timeout = { %s = \"7s\" }\n", key), worker+"limits."+key, `"7s"`)
		}
		t[block+" retry/attempts"] = change(mark, "retry = { attempts = 5 }\n", worker+"retry.attempts", "5")
		t[block+" retry/on"] = change(mark, "retry = { on = [\"auth\"] }\n", worker+"retry.on", `["auth"]`)
		t[block+" retry/backoff"] = change(mark, "retry = { backoff = \"7s\" }\n", worker+"retry.backoff", `"7s"`)
	}
	return t
}

// TestAttributes turns every attribute of the reference, and requires that
// something is different then. An attribute without a turn fails.
func TestAttributes(t *testing.T) {
	all := turns()
	var attributes []string
	for _, b := range Reference() {
		for _, a := range b.Attributes {
			if len(a.Keys) == 0 {
				attributes = append(attributes, b.Path+" "+a.Name)
			}
			for _, k := range a.Keys {
				attributes = append(attributes, b.Path+" "+a.Name+"/"+k.Name)
			}
		}
	}
	for _, name := range names(all) {
		if !slices.Contains(attributes, name) {
			t.Errorf("%s: the reference has no such attribute", name)
		}
	}
	untouched := map[string]seen{} // by run, where no further files are needed
	for _, name := range attributes {
		turn, ok := all[name]
		if !ok {
			t.Errorf("%s: nothing shows what this attribute does", name)
			continue
		}
		if n := strings.Count(knobs, turn.old); n != 1 {
			t.Errorf("%s: %q stands %d times in the definition", name, turn.old, n)
			continue
		}
		before, known := untouched[turn.run]
		if !known || turn.more != nil {
			before = outcomeOf(t, knobs, turn.run, turn.more)
		}
		if turn.more == nil {
			untouched[turn.run] = before
		}
		after := outcomeOf(t, strings.Replace(knobs, turn.old, turn.new, 1), turn.run, turn.more)
		if turn.at == "said" {
			if strings.Contains(before.said, turn.want) || !strings.Contains(after.said, turn.want) {
				t.Errorf("%s: want %q only after; said before:\n%s\nand after:\n%s", name, turn.want, before.said, after.said)
			}
			continue
		}
		if was := before.at(turn.at); was == turn.want {
			t.Errorf("%s: %s is %s without it too", name, turn.at, was)
		}
		if got := after.at(turn.at); got != turn.want {
			t.Errorf("%s: %s is %s, not %s; said:\n%s", name, turn.at, got, turn.want, after.said)
		}
	}
}

// TestResultIsNearest: a provider that says who writes its result is not
// overruled by what it extends or overrides.
func TestResultIsNearest(t *testing.T) {
	for _, block := range []string{
		"provider \"p\" {\n  extends = provider.command\n  command = [\"x\"]\n  result = \"stdout\"\n}\n",
		"provider \"p\" {\n  extends = provider.command\n  command = [\"x\"]\n  access \"read\" {\n    result = \"stdout\"\n  }\n}\n",
		"override \"provider\" \"command\" {\n  result = \"stdout\"\n}\nprovider \"p\" {\n  extends = provider.command\n  command = [\"x\"]\n}\n",
	} {
		src := tree(t, map[string]string{"okstra.hcl": block + strings.ReplaceAll(smallest, "provider.claude", "provider.p")})
		if got := compile(t, src, "").Plan.Rounds[0].Workers[0].Result; got != plan.ResultStdout {
			t.Errorf("the result comes from %q with:\n%s", got, block)
		}
	}
}

// seen is what became of a definition.
type seen struct {
	facts any
	said  string
}

func outcomeOf(t *testing.T, definition, run string, more map[string]string) seen {
	t.Helper()
	files := with(beside, "okstra.hcl", definition)
	for name, text := range more {
		files[name] = text
	}
	def, diags := Load(tree(t, files))
	c, others := Compile(def, run, CompileOptions{})
	facts := map[string]any{}
	if c != nil {
		facts["plan"] = c.Plan
	}
	if name, ok := def.DefaultRun(); ok {
		facts["default"] = name
	}
	providers := map[string]ProviderInfo{}
	for _, p := range def.Providers() {
		providers[p.Name] = p
	}
	facts["providers"] = providers
	b, err := plan.Indented(facts)
	if err != nil {
		t.Fatal(err)
	}
	s := seen{said: texts(append(diags, others...))}
	if err := json.Unmarshal(b, &s.facts); err != nil {
		t.Fatal(err)
	}
	return s
}

// at returns the JSON form of what stands at a path; -1 is the last element.
func (s seen) at(path string) string {
	v := s.facts
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i, err := strconv.Atoi(step)
			if i < 0 {
				i += len(x)
			}
			if err != nil || i < 0 || i >= len(x) {
				return "nothing"
			}
			v = x[i]
		default:
			return "nothing"
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// camel is the JSON name of an attribute.
func camel(attr string) string {
	parts := strings.Split(attr, "_")
	for i, p := range parts[1:] {
		parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
	}
	return strings.Join(parts, "")
}
