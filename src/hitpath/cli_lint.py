"""The command `lint`: parse, then one call; exit code 1 where something new was found."""

from typing import Annotated

import typer

from hitpath.cli_options import Json


def lint(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...", help="Python files or folders; requests.jsonl or one JSON body; -."
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Known findings; written where there is no such file."),
    ] = None,
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Write the baseline anew.")
    ] = False,
    json_file: Json = None,
    sarif: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="SARIF 2.1.0, for code hosts.")
    ] = None,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE|-", help="JUnit XML, for CI servers.")
    ] = None,
    no_content: Annotated[
        bool, typer.Option("--no-content", help="Hashes and lengths instead of text.")
    ] = False,
) -> None:
    """What in prompts or their source changes ahead of shared text; 1 if something new is found."""
    from hitpath.report.lint import LintJob, run_lint

    job = LintJob(
        paths,
        baseline=baseline,
        update_baseline=update_baseline,
        json=json_file,
        sarif=sarif,
        junit=junit,
        content=not no_content,
    )
    if run_lint(job):
        raise typer.Exit(1)
