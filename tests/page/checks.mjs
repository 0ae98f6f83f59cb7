// checks.mjs: the parts of the walk through the page that need no browser; the gate tests them.

/** Throws where what a stranger should see is not there. */
export function must(isSo, what) {
  if (!isSo) throw new Error(`not so: ${what}`);
}

/** A line for each element that breaks a rule of axe-core. */
export function violationLines(where, violations) {
  return violations.flatMap((rule) => rule.nodes.map((node) =>
    `${where}: ${rule.id} (${rule.impact}): ${rule.help}: ${node.target.flat().join(' ')}`));
}

/** The opening tags of a page: `{name, attributes}`, in order. For the page of this repository, not for any HTML. */
export function tagsOf(html) {
  const tag = /<([a-z][a-z0-9]*)((?:\s+[a-z-]+(?:="[^"]*")?)*)\s*\/?>/g;
  return [...html.matchAll(tag)].map(([, name, text]) => ({
    name,
    attributes: Object.fromEntries([...text.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)].map(([, key, value]) => [key, value ?? ''])),
  }));
}

/** What is wrong with the ids of a page: repeated ones, and references to none. */
export function idFaults(tags) {
  const ids = tags.map(({ attributes }) => attributes.id).filter((id) => id !== undefined);
  const faults = ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `${id} is there twice`);
  for (const { name, attributes } of tags)
    for (const key of ['for', 'list', 'aria-controls', 'aria-labelledby', 'aria-describedby'])
      if (attributes[key] !== undefined && !ids.includes(attributes[key]))
        faults.push(`${name}: ${key} names ${attributes[key]}, which is not there`);
  return faults;
}
