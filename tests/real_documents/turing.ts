<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de" sourcelanguage="en">
<context>
    <name>AboutWindow</name>
    <message>
        <location filename="../forms/ui_about.py" line="77"/>
        <source>About Turing</source>
        <translation>Über Turing</translation>
    </message>
</context>
<context>
    <name>Algo</name>
    <message>
        <location filename="../forms/mainwindow.py" line="2007"/>
        <source>[k]BREAK[/k]</source>
        <translation>[k]VERLASSEN[/k]</translation>
    </message>
    <message>
        <location filename="../algo/worker.py" line="207"/>
        <source>Index &apos;{idx}&apos; too big for array</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>AlgoFuncStmt</name>
    <message>
        <location filename="../forms/ui_alg_func.py" line="60"/>
        <source>&lt;html&gt;&lt;head/&gt;&lt;body&gt;&lt;p&gt;Creates a custom function. The parameters must be a comma-separated list of identifiers.&lt;/p&gt;&lt;p&gt;A function may or may not return a value, it can very well only &amp;quot;do&amp;quot; things without ever giving a result. Such a function can be called using the CALL statement.&lt;/p&gt;&lt;/body&gt;&lt;/html&gt;</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>AlgoStopStmt</name>
    <message>
        <location filename="../forms/ui_alg_stop.py" line="67"/>
        <source>&lt;html&gt;&lt;head/&gt;&lt;body&gt;&lt;p&gt;Pauses the program until &amp;quot;Run&amp;quot; or &amp;quot;Debug&amp;quot; is pressed.&lt;/p&gt;&lt;/body&gt;&lt;/html&gt;</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Algobox</name>
    <message>
        <location filename="../algo/frontends/algobox.py" line="54"/>
        <source>Unknown color: {color}</source>
        <translation type="obsolete">Unbekannte Farbe: {color}</translation>
    </message>
</context>
<context>
    <name>Docs</name>
    <message>
        <location filename="../maths/lib/stats.py" line="476"/>
        <source>Returns the probability for {{k}} with the binomial distribution of parameters {{n}} and {{p}}.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../maths/lib/stats.py" line="564"/>
        <source>Returns the probability for {{x}} with the normal distribution of parameters µ={{mu}} and σ={{sigma}}.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>Evaluator</name>
    <message>
        <location filename="../maths/evaluator.py" line="73"/>
        <source>Cannot find variable or function {name}</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../maths/evaluator.py" line="260"/>
        <source>Type mismatch for argument #{idx} &apos;{arg}&apos; (expected {exp})</source>
        <translation>Typenkonflikt für Parameter #{idx} '{arg}' (erwartet {exp})</translation>
    </message>
    <message>
        <location filename="../maths/evaluator.py" line="376"/>
        <source>Trying to divide by zero</source>
        <translation type="unfinished"></translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <location filename="../forms/ui_mainwindow.py" line="860"/>
        <source>DISPLAY value</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/ui_mainwindow.py" line="883"/>
        <source>&amp;File</source>
        <translation>&amp;Datei</translation>
    </message>
    <message>
        <location filename="../forms/ui_mainwindow.py" line="886"/>
        <source>&amp;Help</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/ui_mainwindow.py" line="890"/>
        <source>&amp;Program</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/mainwindow.py" line="913"/>
        <source>Syntax error ({type}) at line {line}, offset {off}: </source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/mainwindow.py" line="1148"/>
        <source>Do you really want to create a new file?
All unsaved changes will be lost.</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/mainwindow.py" line="2353"/>
        <source>Program file (*.py *.tr *.alg)</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/mainwindow.py" line="2530"/>
        <source>A modified file has been automatically saved.
Would you like to recover it?</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/ui_mainwindow.py" line="967"/>
        <source>Check for updates</source>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <location filename="../forms/mainwindow.py" line="1088"/>
        <source>You are not allowed to write to {},
please choose another file path.</source>
        <translation type="unfinished"></translation>
    </message>
</context>
</TS>
