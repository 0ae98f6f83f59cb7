"""python/tests/test_notebook.py: the notebook of docs/python.md runs from its beginning to its end, and plots."""
import os
import sys
import unittest

from support import PATIENCE_S, REPOSITORY, ProjectTest, skip_without

skip_without("rankd", "nbconvert", "ipykernel", "matplotlib", "pandas", "pyarrow")

import nbformat  # noqa: E402
from nbconvert.preprocessors import ExecutePreprocessor  # noqa: E402


class Notebook(ProjectTest):
    def test_it_runs(self):
        notebook = nbformat.read(REPOSITORY / "python/examples/ranking.ipynb", as_version=4)
        nbformat.validate(notebook)
        os.environ["RANKD_DEMO"] = str(self.demo)
        os.environ["JUPYTER_DATA_DIR"] = str(self.scratch / "jupyter")
        os.environ["IPYTHONDIR"] = str(self.scratch / "ipython")
        os.environ["MPLCONFIGDIR"] = str(self.scratch / "matplotlib")
        os.environ["PATH"] = os.path.dirname(sys.executable) + os.pathsep + os.environ["PATH"]
        ExecutePreprocessor(timeout=PATIENCE_S, kernel_name="python3").preprocess(notebook)
        outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
        self.assertTrue(any("image/png" in output.get("data", {}) for output in outputs))
        self.assertIn("200", [output.get("data", {}).get("text/plain") for output in outputs])


if __name__ == "__main__":
    unittest.main()
