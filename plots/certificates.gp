# Share of positions whose greedy draft is accepted, and is certain to be, a panel for each rule.
# title: Greedy drafts that are certain to be accepted
# x: draft_order
# y: greedy_accepted certified certified_margin
# labels: accepted, certified, by margins alone
# facet: accepts
