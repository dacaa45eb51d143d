package lang

import "github.com/hashicorp/hcl/v2"

// BlockDoc describes one block type. The schemas that files are decoded with
// are built from these, and so are the tables of the language reference.
type BlockDoc struct {
	Path        string   // "round", or "run > round" for a block inside another
	Labels      []string // what the labels are, in order
	Description string
	Attributes  []AttrDoc
	Blocks      []string // paths of the blocks that may stand inside
	Many        bool     // may be repeated
	// Catalog is set for what only the catalog defines and the rest may override.
	Catalog bool
}

// AttrDoc describes one attribute, or one key of an object attribute.
type AttrDoc struct {
	Name        string
	Type        string
	Required    bool
	Default     string // as written in a definition; empty where there is none
	Description string
	Keys        []AttrDoc // of an object
}

// Reference returns every block of the language, outermost first, with all
// attributes in the order in which the documentation shows them.
func Reference() []BlockDoc { return blocks }

var timeoutKeys = []AttrDoc{
	{Name: "start", Type: "duration", Default: `"30s"`, Description: "From the request to the worker's start."},
	{Name: "wall", Type: "duration", Default: `"60m"`, Description: "The longest one attempt may take."},
	{Name: "idle", Type: "duration", Default: `"15m"`, Description: "The longest silence of a worker."},
	{Name: "grace", Type: "duration", Default: `"10s"`, Description: "Between asking a worker to end and ending it."},
}

var retryKeys = []AttrDoc{
	{Name: "attempts", Type: "number", Default: "2", Description: "All starts of one worker, the first included."},
	{Name: "on", Type: "list(string)", Default: `["not-started", "supervisor-lost", "pane-lost", "rate-limited", "overloaded"]`, Description: "Reasons that are tried again."},
	{Name: "backoff", Type: "duration", Default: `"5s"`, Description: "Before the second start; doubles with each further one."},
}

var budgetKeys = []AttrDoc{
	{Name: "dispatches", Type: "number", Description: "Started attempts of every kind."},
	{Name: "wall", Type: "duration", Description: "The longest duration of each batch, added up."},
	{Name: "tokens", Type: "number", Description: "Input, output and reasoning tokens."},
	{Name: "usd", Type: "number", Description: "Cost in US dollars."},
}

var taskKeys = []AttrDoc{
	{Name: "project", Type: "string", Description: "Defaults to the okstra block's, then to the name of the project folder."},
	{Name: "group", Type: "string", Default: `"default"`, Description: "Defaults to the okstra block's."},
	{Name: "id", Type: "string", Description: "Defaults to the name of the run."},
}

var worstKeys = []AttrDoc{
	{Name: "tokens", Type: "number", Description: "The most tokens that one start uses."},
	{Name: "usd", Type: "number", Description: "The most that one start costs."},
}

func timeoutAttr() AttrDoc {
	return AttrDoc{Name: "timeout", Type: "object", Keys: timeoutKeys, Description: "Limits of one attempt; the nearest wins, key by key."}
}

func retryAttr() AttrDoc {
	return AttrDoc{Name: "retry", Type: "object", Keys: retryKeys, Description: "What is tried again; the nearest wins, key by key."}
}

var blocks = []BlockDoc{
	{
		Path: "okstra", Description: "Settings of the whole definition.",
		Attributes: []AttrDoc{
			{Name: "required_version", Type: "string", Description: "Versions of okstra that understand this definition, such as \">= 0.1\"."},
			{Name: "default_run", Type: "run", Description: "The run that is meant when a command names none."},
			{Name: "project", Type: "string", Description: "Project of every task that names none."},
			{Name: "group", Type: "string", Description: "Group of every task that names none."},
			timeoutAttr(), retryAttr(),
		},
		Blocks: []string{"panes"},
	},
	{
		Path: "import", Many: true, Description: "Merges another file or folder. Its runs are not imported.",
		Attributes: []AttrDoc{
			{Name: "source", Type: "string", Required: true, Description: "The file or folder, relative to this file."},
		},
	},
	{
		Path: "override", Labels: []string{"kind", "name"}, Many: true,
		Description: "Changes what an import or the catalog defines, attribute by attribute. Takes every attribute and block of that kind; lists and maps are replaced, but forbidden actions can only be added to.",
	},
	{
		Path: "variable", Labels: []string{"name"}, Many: true, Description: "An input of the definition.",
		Attributes: []AttrDoc{
			{Name: "type", Type: "type", Default: "any", Description: "string, number, bool, list(…), set(…), map(…), object({…}), tuple([…])."},
			{Name: "default", Type: "any", Description: "The value where nobody gives one. Without it a value is required."},
			{Name: "description", Type: "string", Description: "For people."},
			{Name: "sensitive", Type: "bool", Default: "false", Description: "The value may go to env only, and is never written down or shown."},
		},
		Blocks: []string{"variable > validation"},
	},
	{
		Path: "variable > validation", Many: true, Description: "A rule for the variable's value.",
		Attributes: []AttrDoc{
			{Name: "condition", Type: "bool", Required: true, Description: "Must be true. May use this variable only."},
			{Name: "error_message", Type: "string", Required: true, Description: "What to say where it is not."},
		},
	},
	{Path: "locals", Many: true, Description: "Named values, any name. Evaluated when first needed."},
	{
		Path: "provider", Labels: []string{"name"}, Many: true, Description: "A worker CLI and how it is called.",
		Attributes: []AttrDoc{
			{Name: "extends", Type: "provider", Description: "Another provider whose attributes hold where this one says nothing."},
			{Name: "command", Type: "list(string)", Required: true, Description: "The program and its first arguments. A relative path with a slash starts from the project root."},
			{Name: "args", Type: "list(string)", Description: "Arguments after the command's and the access block's."},
			{Name: "model_args", Type: "list(string)", Description: "Appended where the worker has a model."},
			{Name: "prompt", Type: "string", Default: `"path"`, Description: "How the worker gets its prompt: path, stdin or argument."},
			{Name: "result", Type: "string", Default: `"file"`, Description: "Who writes the result: file (the worker) or stdout (its final text)."},
			{Name: "output", Type: "string", Default: `"text"`, Description: "Form of standard output: text, claude-stream-json, codex-json or gemini-stream-json."},
			{Name: "model", Type: "string", Description: "The model where the participant names none."},
			{Name: "models", Type: "map(string)", Description: "Short names of models, and what is passed for them."},
			{Name: "env", Type: "map(string)", Description: "Environment variables; null leaves one out."},
			{Name: "unset_env", Type: "list(string)", Description: "Variables that the worker must not inherit."},
			timeoutAttr(), retryAttr(),
			{Name: "exit_codes", Type: "map(string)", Description: "What an exit code means: code to reason."},
			{Name: "version_command", Type: "list(string)", Description: "Prints the CLI's version."},
			{Name: "worst", Type: "object", Keys: worstKeys, Description: "The most that one start is taken to use where it reports nothing."},
		},
		Blocks: []string{"provider > access"},
	},
	{
		Path: "provider > access", Labels: []string{"access"}, Many: true, Description: "What is different with \"read\" or \"write\" access.",
		Attributes: []AttrDoc{
			{Name: "args", Type: "list(string)", Description: "Arguments after the command's."},
			{Name: "env", Type: "map(string)", Description: "Added to the provider's."},
			{Name: "result", Type: "string", Description: "As the provider's, for this access."},
		},
	},
	{
		Path: "participant", Labels: []string{"name"}, Many: true, Description: "Who works: a provider with a model.",
		Attributes: []AttrDoc{
			{Name: "provider", Type: "provider", Required: true, Description: "The worker CLI."},
			{Name: "model", Type: "string", Description: "A model, or a short name of the provider's models."},
			{Name: "args", Type: "list(string)", Description: "Appended to the provider's."},
			{Name: "env", Type: "map(string)", Description: "Added to the provider's."},
			timeoutAttr(), retryAttr(),
		},
	},
	{
		Path: "role", Labels: []string{"name"}, Many: true, Description: "What a worker may touch.",
		Attributes: []AttrDoc{
			{Name: "access", Type: "string", Default: `"read"`, Description: "read or write."},
			{Name: "description", Type: "string", Description: "For people and for the prompt."},
		},
	},
	{
		Path: "duty", Labels: []string{"name"}, Many: true, Description: "What is asked of a worker.",
		Attributes: []AttrDoc{
			{Name: "instructions", Type: "string", Required: true, Description: "The text of the prompt."},
			{Name: "role", Type: "role", Default: "role.analyst", Description: "The role that this duty is done in; whether it may write comes from there."},
			{Name: "inputs", Type: "list(string)", Description: "Files to read, relative to the project root."},
			{Name: "emits", Type: "string", Description: "A structured file beside the result: findings, verdicts or verdict."},
			{Name: "audit", Type: "bool", Default: "false", Description: "Asks for an audit file beside the result. Always true in a report-writer round."},
			timeoutAttr(), retryAttr(),
		},
		Blocks: []string{"duty > parameter", "duty > output"},
	},
	{
		Path: "duty > parameter", Labels: []string{"name"}, Many: true, Description: "A value that each assign gives in with.",
		Attributes: []AttrDoc{
			{Name: "type", Type: "type", Default: "any", Description: "As a variable's."},
			{Name: "default", Type: "any", Description: "Without it the value is required."},
		},
	},
	{
		Path: "duty > output", Labels: []string{"name"}, Many: true, Description: "A further file that the worker writes; okstra names it.",
		Attributes: []AttrDoc{
			{Name: "description", Type: "string", Description: "What belongs in it."},
			{Name: "schema", Type: "string", Description: "A JSON Schema file, relative to this file, that it must match."},
			{Name: "required", Type: "bool", Default: "true", Description: "Whether the worker is only completed with it."},
		},
	},
	{
		Path: "task_type", Labels: []string{"name"}, Many: true, Catalog: true, Description: "The rules of a kind of task.",
		Attributes: []AttrDoc{
			{Name: "allowed", Type: "list(string)", Description: "Actions that are allowed."},
			{Name: "forbidden", Type: "list(string)", Description: "Actions that are forbidden. An override adds to them."},
			{Name: "next", Type: "list(string)", Description: "Task types that may follow."},
			{Name: "writers", Type: "list(string)", Description: "Roles that may have write access."},
			{Name: "required_roles", Type: "list(string)", Description: "Roles without which such a run is not whole."},
		},
	},
	{
		Path: "run", Labels: []string{"name"}, Many: true, Description: "Rounds of work on one task.",
		Attributes: []AttrDoc{
			{Name: "extends", Type: "run", Description: "Another run. Its attributes hold where this one says nothing; a round of the same name replaces its, others are added after them."},
			{Name: "description", Type: "string", Description: "For people."},
			{Name: "task_type", Type: "task_type", Default: "task_type.unknown", Description: "The rules in force."},
			{Name: "task", Type: "object", Keys: taskKeys, Description: "The piece of work that the run belongs to."},
			{Name: "backend", Type: "list(backend)", Default: "[backend.cmux, backend.tmux, backend.process]", Description: "Where workers run: the first that is available."},
			{Name: "parallelism", Type: "number", Default: "8", Description: "Workers at the same time."},
			{Name: "dir", Type: "string", Default: `"."`, Description: "Working directory, relative to the project root."},
			{Name: "fingerprint", Type: "list(string)", Description: "Values that make a finished run worth repeating when they change."},
			{Name: "budget", Type: "object", Keys: budgetKeys, Description: "Bounds of the whole run."},
			timeoutAttr(), retryAttr(),
		},
		Blocks: []string{"run > lead", "panes", "run > round"},
	},
	{
		Path: "run > lead", Description: "What the run's lead is told. okstra never starts it.",
		Attributes: []AttrDoc{
			{Name: "runtime", Type: "string", Description: "claude-code, codex or external."},
			{Name: "instructions", Type: "string", Description: "For the lead."},
			{Name: "inputs", Type: "list(string)", Description: "Files to read, relative to the project root."},
		},
	},
	{
		Path: "panes", Description: "The pane policy, in a run or in the okstra block; the nearest wins, key by key.",
		Attributes: []AttrDoc{
			{Name: "placement", Type: "string", Default: `"beside-lead"`, Description: "beside-lead, window or session."},
			{Name: "layout", Type: "string", Default: `"tiled"`, Description: "In windows of okstra's own: tiled, columns or rows."},
			{Name: "lead_share", Type: "number", Default: "60", Description: "Percent of its window that the lead keeps."},
			{Name: "min_columns", Type: "number", Default: "40", Description: "Least width of a pane, in cells."},
			{Name: "min_rows", Type: "number", Default: "8", Description: "Least height of a pane, in cells."},
			{Name: "per_window", Type: "number", Default: "4", Description: "Most panes in a window."},
			{Name: "keep", Type: "string", Default: `"round"`, Description: "How long a finished pane stays: round, on-failure or never."},
			{Name: "title", Type: "string", Description: "Title of a pane, evaluated for each worker. Defaults to the execution label."},
		},
	},
	{
		Path: "run > round", Labels: []string{"name"}, Many: true, Description: "Workers that run beside each other.",
		Attributes: []AttrDoc{
			{Name: "kind", Type: "string", Default: `"work"`, Description: "work, reverify or report-writer: what its workers owe besides their duty, whatever their role."},
			{Name: "after", Type: "list(string)", Description: "Rounds that must have met their require. Defaults to all before this one."},
			{Name: "require", Type: "string", Default: `"all"`, Description: "\"all\", a count, or a percentage such as \"50%\"; 0 goes on whatever happened."},
			{Name: "parallelism", Type: "number", Description: "Workers at the same time. Defaults to the run's."},
			{Name: "dir", Type: "string", Description: "Working directory. Defaults to the run's."},
		},
		Blocks: []string{"round > assign", "round > gate", "round > convergence"},
	},
	{
		Path: "round > assign", Many: true, Description: "Gives a duty to participants.",
		Attributes: []AttrDoc{
			{Name: "duty", Type: "duty", Required: true, Description: "What is asked."},
			{Name: "to", Type: "list(participant)", Required: true, Description: "One or a list of participants or providers."},
			{Name: "for_each", Type: "any", Description: "A map or a set of strings: one worker per element and participant, with each.key and each.value in scope."},
			{Name: "with", Type: "map(any)", Description: "Values of the duty's parameters."},
			{Name: "inputs", Type: "list(string)", Description: "Added to the duty's."},
			{Name: "dir", Type: "string", Description: "Working directory. Defaults to the round's."},
			timeoutAttr(), retryAttr(),
		},
	},
	{
		Path: "round > gate", Description: "Waits for a person before the round.",
		Attributes: []AttrDoc{
			{Name: "reason", Type: "string", Description: "What the person should look at."},
			{Name: "choices", Type: "list(string)", Description: "Answers to choose from."},
		},
	},
	{
		Path: "round > convergence", Description: "The policy of a reverify round.",
		Attributes: []AttrDoc{
			{Name: "enabled", Type: "bool", Default: "true", Description: "false leaves the round out."},
			{Name: "max_rounds", Type: "number", Default: "2", Description: "1 to 3. The default is 1 for requirements-discovery."},
			{Name: "mode", Type: "string", Default: `"lightweight"`, Description: "lightweight or full-reanalysis; the latter where adversarial."},
			{Name: "adversarial", Type: "bool", Description: "Judges look for what speaks against a finding. On for requirements-discovery, error-analysis and implementation-planning."},
			{Name: "critic", Type: "bool", Default: "false", Description: "Adds one pass of a critic over the whole."},
			{Name: "source", Type: "string", Default: `"core"`, Description: "Who writes the round plans: core or lead."},
		},
	},
}

// blockDocs finds a block's documentation by its path.
var blockDocs = func() map[string]*BlockDoc {
	m := make(map[string]*BlockDoc, len(blocks))
	for i := range blocks {
		m[blocks[i].Path] = &blocks[i]
	}
	return m
}()

func (b *BlockDoc) attr(name string) *AttrDoc {
	for i := range b.Attributes {
		if b.Attributes[i].Name == name {
			return &b.Attributes[i]
		}
	}
	return nil
}

// typeName is the word that opens the block: the last of its path.
func (b *BlockDoc) typeName() string {
	path := b.Path
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == ' ' {
			return path[i+1:]
		}
	}
	return path
}

// schema is the one complete schema that a body of this block is closed with.
// In an override nothing is required, and neither where inherited says that
// another block may give it.
func (b *BlockDoc) schema(required bool) *hcl.BodySchema {
	s := &hcl.BodySchema{}
	for _, a := range b.Attributes {
		s.Attributes = append(s.Attributes, hcl.AttributeSchema{Name: a.Name, Required: a.Required && required})
	}
	for _, path := range b.Blocks {
		inner := blockDocs[path]
		s.Blocks = append(s.Blocks, hcl.BlockHeaderSchema{Type: inner.typeName(), LabelNames: inner.Labels})
	}
	return s
}
