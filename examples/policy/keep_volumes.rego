# Policies for Conftest on sindplan's plans:
#
#     sindplan plan --format json > plan.json
#     conftest test --policy examples/policy plan.json
#
# `deny` stops a plan, `warn` is told. keep_volumes.py does the same without Conftest.

package main

import rego.v1

# A volume holds data: no plan may remove or replace one.
deny contains message if {
	some change in input.resource_changes
	change.type == "volume"
	"delete" in change.change.actions
	message := sprintf("%s would be removed, and the data in it", [change.address])
}

# Conftest looks at whatever it is given: what is no plan has no changes that could be denied.
deny contains "this is not a plan of sindplan's, or one of another format" if {
	not is_plan
}

is_plan if {
	startswith(input.format_version, "1.")
	input.sindplan.format == 1
	is_array(input.resource_changes)
}

# What a hand has done is undone by the plan.
warn contains message if {
	some change in input.resource_changes
	change.sindplan.cause == "drift"
	message := sprintf("%s was changed by hand: %s", [change.address, change.sindplan.reason])
}
