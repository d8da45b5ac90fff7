"""`hitpath lint`: one command, its page, JSON, SARIF and JUnit."""

from hitpath.report.lint.run import LintJob, run_lint

__all__ = ["LintJob", "run_lint"]
