"""An experiment with passes and launches: python examples/experiment.py [KERNEL] [POINTS]

Which pass orders, options and tiles make the estimate of a kernel smaller, ablation of passes, and a page about all of it. The same as
commands: minitriton sweep KERNEL --count 40 --constants --metrics cycles --store experiment.db
          minitriton report experiment.db --html experiment.html
"""

import sys

from minitriton import lab

kernel, count = (*sys.argv[1:], *["bench_row_sums", "40"][len(sys.argv) - 1 :])
table = lab.sweep([kernel], lab.Space(constants=True), count=int(count), metrics=["cycles"], store="experiment.db")
print(table.text())
found = lab.search(kernel, lab.Space(constants=True), "cycles", sampler="evolutionary", budget=int(count), seed=1)
print(found.text())
print(lab.leave_one_out([kernel]).text("instructions"))
lab.write_page("experiment.db", "experiment.html")
